"""A release that a ledger pays for: found if it was made before, otherwise charged, run and stored, in this order.

Two requests are identical if their public parameters are, their period, and the path or address of their source, on
the same declared data set. The contents of the table play no part in that. What has neither path nor address, such as
a frame, is the same only under a declared period.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, NamedTuple, TypeVar

import numpy as np

from flexdp._core.domains import EPSILON, PURE_DELTA, flag, instance, path_text
from flexdp._core.exact import Number, exact
from flexdp._core.text import plain_scalar, safe_repr
from flexdp._release.about import LABELS, About
from flexdp._release.asking import asks_nothing
from flexdp._release.automatic import AutoBudget
from flexdp._release.once import one_at_a_time
from flexdp._release.parameters import defaults
from flexdp._release.published import Release
from flexdp._release.run import Request
from flexdp._release.several import Releases
from flexdp.accounting.chain import Account, canonical, check_name, digest
from flexdp.accounting.ledger import Ledger, Payment
from flexdp.errors import InputError, LedgerError, P
from flexdp.guarantees import AddRemove, Privacy

__all__ = ["Payer", "identity", "paid_by", "payer_of", "run_paid"]

_Made = TypeVar("_Made", bound=Release | Releases)

_NUMBERS = ("epsilon", "delta", "certify", "split", "width", "relative", "edges", "beta", "bounds",
            "max_buckets_per_unit")  # fmt: skip
_UNNAMED = "A table without a path or an address is identified by a declared period alone"
_UNWRITTEN = "The parameters cannot be compared with those of later requests"
_MECHANISMS = {(True, False): "dropping", (False, True): "exact answers", (True, True): "dropping and exact answers"}


class Payer(NamedTuple):
    """Who pays for a release: a data set of a ledger, again if ``fresh``."""

    ledger: Ledger
    dataset: str
    fresh: bool


def payer_of(ledger: Any, dataset: Any, fresh: Any) -> Payer | None:
    """Check the three parameters of a charged release; None where no ledger is used."""
    again = flag("fresh", fresh)
    if ledger is None:
        for name, value in (("dataset", dataset), ("fresh", again or None)):
            if value is not None:
                raise InputError(name, ("needs ", P("ledger")), remedy=("Name the ledger with ", P("ledger"), "."))
        return None
    found = ledger if isinstance(ledger, Ledger) else Ledger(path_text("ledger", ledger))
    if dataset is None:
        raise InputError("dataset", ("is missing: ", P("ledger"), " needs the declared name of the data set"))
    return Payer(instance("ledger", found, Ledger, "a Ledger or its address"), check_name(dataset), again)


def identity(request: Request, budget: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the public parameters of a request in one form; None where they have none: it is never repeated."""
    given = {**request.parameters, **budget}
    question = request.questions[0]
    if question.wanted is not None and not question.unasked:
        given["ask"] = list(question.wanted.words)
    elif asks_nothing(given.get("ask")):
        given["ask"] = []
    known = defaults()  # the command line gives them all
    try:
        plain = {name: _plain(name, value) for name, value in given.items() if value is not None and name not in LABELS}
    except TypeError:
        return None
    plain = {name: value for name, value in plain.items() if value != known.get(name, ...)}
    plain["kinds"] = [list(each.spec.kinds) + list(each.spec.by_kinds) for each in request.questions]
    return plain


def _plain(name: str, value: Any) -> Any:
    """A parameter as JSON: numbers exactly, whichever way they were written."""
    value = plain_scalar(value)
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): _plain(name, cell) for key, cell in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(name, cell) for cell in value]
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, dt.date):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return {"microseconds": value // dt.timedelta(microseconds=1)}
    if isinstance(value, str) and name not in _NUMBERS:
        return value
    if isinstance(value, str | int | float | Fraction | Decimal):
        try:
            number = exact(name, value)
        except InputError:
            return str(value)
        return str(number) if name in _NUMBERS else {"number": str(number)}
    raise TypeError("no public form")


def run_paid(
    request: Request,
    payer: Payer | None,
    *,
    epsilon: Number,
    delta: Number,
    certify: Number | None = None,
    split: Any = None,
    charged: Callable[[], None] = lambda: None,
) -> Release | Releases:
    """Return the stored release of an identical request, or charge this one, run it and store it.

    Parameters
    ----------
    request
        The request, with its noise made: everything that can be refused has been.
    payer
        Who pays; without a payer the request is just run.
    epsilon, delta, certify, split
        The budget as it was given.
    charged
        Called once the charge is on disk, before any record is read.

    Returns
    -------
    Release or Releases
        With its :class:`Payment`.
    """
    if payer is None:
        return request.run()
    ledger, dataset, fresh = payer
    unit = request.questions[0].spec.unit or "record"
    account = ledger.account(dataset)
    if account.unit != unit:
        raise InputError(
            "unit",
            f"must be {account.unit!r}, for which {dataset!r} was declared",
            given=repr(unit),
            remedy="" if account.unit == "record" else ("Set ", P("unit", account.unit), "."),
        )
    _check_period(request, account)
    budget = {"epsilon": epsilon, "delta": delta, "certify": certify, "split": split}
    public = identity(request, budget)
    key = "" if public is None else digest(public)
    again = "" if key else _UNWRITTEN
    if key and request.source is None and not account.by_period:
        again = _UNNAMED
    if again or fresh:
        return _paid(request, payer, public, key, budget, charged, again)
    with one_at_a_time(repr(ledger), dataset, key, canonical(request.source)):
        earlier = _found(request, payer, key)
        return _paid(request, payer, public, key, budget, charged) if earlier is None else earlier


def _check_period(request: Request, account: Account) -> None:
    """Refuse a release without a period where data change, and one with a period where they are fixed."""
    period = request.questions[0].spec.about.period
    if account.by_period and period is None:
        raise InputError(
            "period",
            f"is missing: {account.name!r} was declared by period, so every release names the period that it covers",
            remedy=("For example ", P("period", "2026-01"), "."),
        )
    if not account.by_period and period is not None:
        raise InputError(
            "period",
            f"does not fit {account.name!r}, which was declared fixed: its data are the same at all times",
            given=safe_repr(period),
            remedy="Leave it out; for data that change, declare a data set with by_period=True, or flexdp ledger "
            "create --by-period.",
        )


def _found(request: Request, payer: Payer, key: str) -> Release | Releases | None:
    """Return the stored release of an identical request; None if there is none."""
    ledger, dataset, _ = payer
    found = ledger.find(dataset, key, source=request.source)
    if found is None:
        return None
    reader = Releases if request.separately else Release
    try:
        earlier: Release | Releases = reader.from_json(found.document)
    except InputError:  # stored by another version of flexdp
        raise InputError(
            "dataset",
            ": the stored release of this request cannot be read by this version of flexdp",
            remedy=("Set ", P("fresh", True), " to pay for a new one."),
        ) from None
    stored = [earlier] if isinstance(earlier, Release) else list(earlier.values())
    drawn = stored[0].spec.about.drawn
    earlier = _check_details(earlier, [replace(each.spec.about, drawn=drawn) for each in request.questions])
    left, nothing = ledger.account(dataset), Fraction(0)
    rest = left.remaining_epsilon, left.remaining_delta
    return paid_by(
        earlier, Payment(found.receipt, True, True, nothing, nothing, *rest, about=stored[0].spec.about.drawing)
    )


def _paid(
    request: Request,
    payer: Payer,
    public: Mapping[str, Any] | None,
    key: str,
    budget: Mapping[str, Any],
    charged: Callable[[], None],
    again: str = "",
) -> Release | Releases:
    """Charge a request, run it and store what it releases; ``again`` says why the next one like it costs again."""
    ledger, dataset, _ = payer
    unit, account = request.questions[0].spec.unit or "record", ledger.account(dataset)
    epsilon, delta = budget["epsilon"], budget["delta"]
    cost = Privacy(epsilon=EPSILON.check(epsilon), delta=PURE_DELTA.check(delta), neighbours=AddRemove(unit))
    both = (bool(request.budgets), request.asked is not None)
    automatic = any(isinstance(each, AutoBudget) for each in request.budgets)
    mechanism = "automatic buckets, dropping" if automatic else _MECHANISMS.get(both, "dropping")
    details = {"mechanism": mechanism, "parameters": public}
    drawn = dt.datetime.now(dt.UTC).date().isoformat()  # of the charge: it tells nothing of how long a run takes
    receipt = ledger.charge(dataset, cost, unit=unit, request=key, details=details, source=request.source)
    charged()
    published = _check_details(request.run(), [replace(each.spec.about, drawn=drawn) for each in request.questions])
    if published.privacy.epsilon > cost.epsilon or published.privacy.delta > cost.delta:
        raise LedgerError("the release would have cost more than was charged, so it was not published")
    stored, rest = False, (account.remaining_epsilon - cost.epsilon, account.remaining_delta - cost.delta)
    with suppress(LedgerError):  # it has been paid for; only its repetition would not be free
        ledger.store(receipt, published.to_json(), request=key)
        stored = True
        left = ledger.account(dataset)
        rest = left.remaining_epsilon, left.remaining_delta
    return paid_by(published, Payment(receipt, False, stored, cost.epsilon, cost.delta, *rest, again=again))


def _check_details(published: Release | Releases, abouts: Sequence[About]) -> Release | Releases:
    """A release with what is said about it now; only the period and the day belong to what was asked for and drawn."""
    each = [published] if isinstance(published, Release) else list(published.values())
    made = [replace(one, spec=replace(one.spec, about=about)) for one, about in zip(each, abouts, strict=True)]
    return made[0] if isinstance(published, Release) else Releases(made)


def paid_by(release: _Made, payment: Payment | None) -> _Made:
    """Note on a release what it cost; it is not part of what is published."""
    object.__setattr__(release, "_payment", payment)
    return release
