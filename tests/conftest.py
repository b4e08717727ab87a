"""Settings of all tests: markers by folder, no clocks, no colours, and one worker for each server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

FOLDERS = {"engines": "engine", "browser": "browser", "statistical": "slow", "experiments": "slow"}
# Tests that take seconds of processor time: ``make quick`` leaves them to ``make test``.
SLOW = {
    "baselines/test_baselines.py": [
        "test_so_they_are_under_the_other_rules_for_ties",
        "test_jump_costs_are_those_of_all_histograms",
    ],
    "baselines/test_exact_laws.py": [
        "test_laws_of_whole_bars_are_those_of_all_noisy_histograms",
        "test_laws_of_real_bars_are_integrals",
    ],
    "cli/test_wrong_words.py": ["test_every_wrong_word_is_one_line"],
    "core/test_numbers.py": ["test_numbers_in_relative_buckets", "test_numbers_in_buckets_of_a_width"],
    "core/test_wrong_values.py": ["test_every_wrong_value_is_taken_or_refused_in_one_line"],
    "distances/test_distances.py": ["test_compiled_and_plain_paths_agree"],
    "house/test_notebook.py": ["test_run_again"],
    "release/test_grid.py": [
        "test_several_columns_are_counted_in_one_pass_as_they_are_alone",
        "test_the_example_runs",
        "test_no_point_is_further_than_beta_from_the_middle_of_its_cell",
    ],
    "release/test_groups.py": [
        "test_statements_about_all_groups_hold_whatever_was_dropped",
        "test_each_group_is_read_as_if_it_were_alone",
    ],
    "release/test_release.py": ["test_all_sources_count_alike", "test_certified_statements_hold_for_every_drop"],
    "release/test_times.py": [
        "test_moments_of_a_zone_are_read_by_its_clocks",
        "test_dates_fall_into_the_buckets_of_the_calendar",
        "test_moments_fall_into_the_buckets_of_the_calendar",
    ],
    "release/test_units.py": [
        "test_one_unit_changes_at_most_k_bars_by_one",
        "test_a_certified_total_bounds_what_was_left_out",
    ],
    "report/test_page.py": ["test_the_same_file_from_everywhere"],
    "tables/test_hostile.py": [
        "test_one_strange_number",
        "test_one_strange_integer",
        "test_one_strange_line_of_csv",
        "test_one_strange_line_of_json",
    ],
    "tables/test_inferred_types.py": ["test_one_cell_that_changes_a_dtype_changes_no_other_bar"],
    "tables/test_lines.py": [
        "test_the_length_of_a_line_is_limited_by_itself_alone",
        "test_one_more_record_in_front_moves_its_own_bucket_only",
        "test_whole_files_around_the_real_buffers",
    ],
    "tables/test_long_texts.py": ["test_a_huge_cell_changes_nobody_elses_outcome"],
    "tables/test_nan_in_parquet.py": ["test_nan_counts_nowhere"],
    "tables/test_sizes.py": [
        "test_one_more_record_in_front_of_all_others",
        "test_counts_that_spill_are_the_same",
        "test_units_that_spill_are_bounded_alike",
    ],
    "tables/test_strange_floats.py": ["test_a_strange_float_is_silent_and_moves_its_own_bar_alone"],
}

# Hypothesis measures time in two places; both would fail on a busy machine.
settings.register_profile("flexdp", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("flexdp")


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests by folder and by name, for ``make quick``."""
    for item in items:
        place = item.path.relative_to(Path(__file__).parent)
        if place.parts[0] in FOLDERS:
            item.add_marker(FOLDERS[place.parts[0]])
        if item.name.split("[")[0] in SLOW.get(place.as_posix(), ()):
            item.add_marker("slow")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """With several workers, Spark, PostgreSQL and the browser are started in one each: tests go where theirs is."""
    from xdist.scheduler import LoadScopeScheduling

    class ByEngine(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            if "browser/" in nodeid:
                return "browser"
            if "engines/" not in nodeid:
                return nodeid
            return "spark" if "spark" in nodeid else "databases"

    return ByEngine(config, log)
