"""What a report says around its numbers: what is not promised, how to read it, how it was made, whom to cite."""

from __future__ import annotations

from flexdp._core.text import plural
from flexdp.report.document import Document

__all__ = ["CITATIONS", "how_it_was_made", "how_to_read", "not_promised"]

CITATIONS = (
    "A. Bansal, R. Chunduru, D. Data, M. Prabhakaran. Flexible Accuracy for Differential Privacy. AISTATS 2022, "
    "PMLR 151, pages 3847–3882.",
    "D. Desfontaines, J. Voss, B. Gipson, C. Mandayam. Differentially Private Partition Selection. Proceedings on "
    "Privacy Enhancing Technologies 2022 (1), pages 339–352.",
)


def how_to_read(document: Document) -> list[str]:
    """For people who will quote the numbers."""
    drop = document.max_drop
    return [
        f"Every count is a lower bound. The true one is the count shown or up to {drop} more; it is never less. "
        f"Write “at least”, or give the range.",
        "What is listed is real: no bucket, key or group appears that holds no record. What is not listed may still "
        f"exist, in a bucket of at most {drop} {document.unit if document.of_units else 'record'}s.",
        "A maximum or minimum says what holds once a few records are left out. Single extreme cases are left out on "
        "purpose: they are what identifies people.",
        "Values stand for buckets. Quote the value with its margin, as the sentences above do.",
        "Do not divide by the number of records, or take differences between this and another release of the same "
        "data, to find out about somebody: each release was protected by itself, and together they tell more.",
    ]


def not_promised(document: Document) -> list[str]:
    """What readers might wrongly take for granted."""
    found = []
    if document.of_units:
        limit = document.content["privacy"]["max_buckets_per_unit"]
        found.append(
            f"Each {document.unit} counts in at most {plural(limit, 'bucket')}; what it had beyond "
            "that was not counted, so counts are not counts of records."
        )
    else:
        found.append(
            "One record is protected, not one person: somebody with several records is protected less, the more of "
            "them there are."
        )
    found += [
        "Further releases of the same data are not covered. Their ε and δ add up with those of this one.",
        "What is true of everybody is not hidden: that most values are small tells something about each of them.",
    ]
    certified = document.content.get("certified")
    found.append(
        "The number of records in the data is not published, and no percentage of it can be computed from here, "
        "except where a bound is stated above."
        if certified is None
        else f"Of how many {_counted(document)} there are, only a bound is published: at most "
        f"{certified['records_at_most']}."
    )
    found.append("Whether the data were right, complete or fairly collected is not examined.")
    return found


def _counted(document: Document) -> str:
    """What is counted in all, where a bound of it was paid for."""
    return f"counts of each {document.unit}" if document.of_units else "records that count"


def how_it_was_made(document: Document) -> list[str]:
    """The mechanism, and the integers that prove it."""
    mechanism, privacy = document.content["mechanism"], document.content["privacy"]
    growth = mechanism["growth"]
    who = f"Each {document.unit} was" if document.of_units else "Records were"
    return [
        f"{who} counted by bucket. Every bucket that held any then lost a random number of them, from 0 to "
        f"{mechanism['max_drop']}, and what was left is published. An empty bucket stays empty.",
        f"The random number follows a table of {mechanism['q']} integer weights that sum to 2^{mechanism['bits']}. The "
        f"first weight is {mechanism['first_weight']}, and that over 2^{mechanism['bits']} is the δ of one bucket. "
        f"The proof uses the growth {growth[0]} / {growth[1]}, which is no more than e^ε.",
        f"Exact parameters: ε = {privacy['epsilon']}, δ = {privacy['delta']}; neighbours: {privacy['neighbours']}. "
        "The table and its proof can be rebuilt from these with flexdp.",
        f"Made with flexdp {document.content['flexdp']}.",
    ]
