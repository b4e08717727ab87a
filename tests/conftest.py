"""Settings of all tests: markers by folder, no clocks, no colours, and one worker for each server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

FOLDERS = {"engines": "engine", "browser": "browser", "statistical": "slow", "experiments": "slow", "sharp": "slow"}
# Tests that take seconds of processor time: ``make quick`` leaves them to ``make test``.
SLOW = {
    "baselines/test_baselines.py": [
        "test_jump_costs_are_those_of_all_histograms",
        "test_so_they_are_under_the_other_rules_for_ties",
    ],
    "baselines/test_exact_laws.py": [
        "test_laws_of_real_bars_are_integrals",
        "test_laws_of_whole_bars_are_those_of_all_noisy_histograms",
    ],
    "cli/test_cli.py": [
        "test_a_count_that_is_told_to_end_does_and_leaves_nothing",
        "test_a_full_standard_output_is_no_surprise",
        "test_closed_streams",
        "test_line_ends_through_a_pipe",
        "test_standard_input_as_pipe_and_as_file",
    ],
    "cli/test_wrong_words.py": ["test_every_wrong_word_is_one_line"],
    "core/test_numbers.py": ["test_numbers_in_buckets_of_a_width", "test_numbers_in_relative_buckets"],
    "core/test_wrong_values.py": ["test_every_wrong_value_is_taken_or_refused_in_one_line"],
    "distances/test_distances.py": ["test_compiled_and_plain_paths_agree"],
    "house/test_notebook.py": ["test_run_again"],
    "house/test_readme.py": ["test_the_command_lines"],
    "mechanisms/test_mechanisms.py": ["test_measured_errors_stay_within_the_derived_guarantee"],
    "release/test_asked.py": ["test_promised_ranks_hold"],
    "release/test_grid.py": [
        "test_groups_on_the_command_line_may_hold_commas",
        "test_a_pipe_is_read_once",
        "test_no_point_is_further_than_beta_from_the_middle_of_its_cell",
        "test_plans_take_public_samples_of_moments",
        "test_several_columns_are_counted_in_one_pass_as_they_are_alone",
        "test_the_example_runs",
    ],
    "release/test_groups.py": [
        "test_each_group_is_read_as_if_it_were_alone",
        "test_statements_about_all_groups_hold_whatever_was_dropped",
    ],
    "release/test_hostile_documents.py": ["test_a_tampered_document_is_a_release_or_refused"],
    "release/test_release.py": ["test_all_sources_count_alike", "test_certified_statements_hold_for_every_drop"],
    "release/test_times.py": [
        "test_dates_fall_into_the_buckets_of_the_calendar",
        "test_moments_fall_into_the_buckets_of_the_calendar",
        "test_moments_of_a_zone_are_read_by_its_clocks",
    ],
    "release/test_units.py": [
        "test_a_certified_total_bounds_what_was_left_out",
        "test_each_unit_is_in_few_bars_once",
        "test_one_unit_changes_at_most_k_bars_by_one",
    ],
    "report/test_page.py": ["test_the_same_file_from_everywhere"],
    "statistics/test_attainable.py": ["test_sets_are_those_of_the_enumeration"],
    "tables/test_duckdb_files.py": ["test_threads_take_turns_on_one_connection_and_its_cursors"],
    "tables/test_hostile.py": [
        "test_one_strange_integer",
        "test_one_strange_line_of_csv",
        "test_one_strange_line_of_json",
        "test_one_strange_number",
    ],
    "tables/test_inferred_types.py": [
        "test_one_cell_that_changes_a_dtype_changes_no_other_bucket",
        "test_the_command_line_reads_groups_and_units_by_kind",
    ],
    "tables/test_lines.py": [
        "test_a_byte_order_mark_within_a_file_is_text",
        "test_a_damaged_gzip_file_fails_alike_whatever_its_size",
        "test_a_gzip_file_fails_alike_wherever_it_is_cut_off",
        "test_hostile_bytes_at_every_offset_around_small_buffers",
        "test_one_more_record_in_front_moves_its_own_bucket_only",
        "test_standard_input_beside_files_publishes_no_header",
        "test_the_length_of_a_line_is_limited_by_itself_alone",
        "test_whole_files_around_the_real_buffers",
    ],
    "tables/test_long_texts.py": ["test_a_huge_cell_changes_no_other_record_s_bucket"],
    "tables/test_nan_in_parquet.py": ["test_nan_counts_nowhere"],
    "tables/test_sizes.py": [
        "test_counts_that_spill_are_the_same",
        "test_one_more_record_in_front_of_all_others",
        "test_units_that_spill_are_bounded_alike",
    ],
    "tables/test_strange_floats.py": ["test_a_strange_float_is_silent_and_changes_its_own_bucket_alone"],
    "tables/test_which_bucket.py": ["test_zeros_of_both_signs_are_one_bucket_of_a_unit"],
    "test_measure.py": ["test_error_is_the_distance_to_what_could_have_been"],
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
