"""Settings of all tests: markers by folder, no clocks, no colours, and one worker for each server."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

FOLDERS = {"engines": "engine", "browser": "browser", "statistical": "slow", "experiments": "slow", "sharp": "slow"}
# Tests that take seconds of processor time: ``make quick`` leaves them to ``make test``.
SLOW = {
    "accounting/test_composition.py": [
        "test_calibrated_releases_fit_and_lose_no_more",
        "test_dp_accounting_agrees",
        "test_masses_are_proved_pessimistic_and_the_proof_can_fail",
        "test_more_points_than_fit_are_made_coarser",
        "test_never_worse_than_basic_composition",
    ],
    "accounting/test_ledger.py": ["test_separate_columns_are_stored_together"],
    "accounting/test_ledger_faults.py": [
        "test_64_processes_at_once",
        "test_a_budget_survives_a_fork",
        "test_a_full_disk_refuses_and_recovers",
        "test_a_read_only_folder",
        "test_killed_500_times",
        "test_killed_a_few_times",
    ],
    "baselines/test_baselines.py": [
        "test_jump_costs_are_those_of_all_histograms",
        "test_so_they_are_under_the_other_rules_for_ties",
    ],
    "baselines/test_exact_laws.py": [
        "test_laws_of_real_bars_are_integrals",
        "test_laws_of_whole_bars_are_those_of_all_noisy_histograms",
    ],
    "calculus/test_chains.py": [
        "test_grouping_does_not_matter_for_random_mechanisms",
        "test_no_pair_of_neighbours_contradicts_the_privacy_that_is_derived",
    ],
    "cli/test_cli.py": [
        "test_a_closed_pipe_is_no_failure",
        "test_a_count_that_is_told_to_end_does_and_leaves_nothing",
        "test_a_full_standard_output_is_no_surprise",
        "test_a_release_whose_file_cannot_be_written_is_printed_whole",
        "test_a_terminal_gets_a_table",
        "test_an_ascii_locale_still_prints",
        "test_closed_streams",
        "test_interrupt_while_nothing_comes_through_the_pipe",
        "test_line_ends_through_a_pipe",
        "test_output_that_cannot_be_printed_says_what_it_cost",
        "test_standard_input_as_pipe_and_as_file",
    ],
    "cli/test_wrong_words.py": ["test_every_wrong_word_is_one_line"],
    "core/test_numbers.py": ["test_numbers_in_buckets_of_a_width", "test_numbers_in_relative_buckets"],
    "core/test_wrong_values.py": ["test_every_wrong_value_is_taken_or_refused_in_one_line"],
    "distances/test_distances.py": ["test_compiled_and_plain_paths_agree", "test_without_numba_the_same_source_runs"],
    "distances/test_distortions.py": ["test_many_bars_compiled"],
    "house/test_extras.py": [
        "test_a_missing_package_is_named_with_the_command_that_installs_it",
        "test_releases_reports_and_plans_need_no_optional_package",
    ],
    "house/test_notebook.py": ["test_run_again"],
    "house/test_readme.py": ["test_the_command_lines"],
    "mechanisms/test_mechanisms.py": ["test_measured_errors_stay_within_the_derived_guarantee"],
    "properties/test_canaries.py": [
        "test_failures_after_data_was_touched_all_look_alike",
        "test_the_command_line_leaks_nothing",
    ],
    "properties/test_hostile_rows.py": ["test_texts_and_categories_of_pandas_are_read_like_a_list"],
    "release/test_asked.py": ["test_command_line", "test_promised_ranks_hold"],
    "release/test_automatic.py": [
        "test_at_most_eleven_statements_are_run",
        "test_several_buckets_a_unit_divide_the_budget",
        "test_the_same_bits_give_the_same_release_on_every_engine",
    ],
    "release/test_grid.py": [
        "test_a_pipe_is_read_once",
        "test_groups_on_the_command_line_may_hold_commas",
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
    "release/test_interpolation.py": ["test_quantiles_rise_with_their_level_and_stay_in_the_sure_interval"],
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
        "test_one_value_of_each_unit",
    ],
    "report/test_charts.py": ["test_maps_stay_small", "test_pictures_stay_small"],
    "report/test_page.py": ["test_the_same_file_from_everywhere"],
    "statistics/test_attainable.py": ["test_quantile_sets_at_any_level", "test_sets_are_those_of_the_enumeration"],
    "tables/test_arrow_streams.py": ["test_streams_are_counted_as_their_table_is"],
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
        "test_the_dtype_decides_nothing_but_the_refusal_of_texts",
    ],
    "tables/test_lines.py": [
        "test_a_byte_order_mark_within_a_file_is_text",
        "test_a_damaged_gzip_file_fails_alike_whatever_its_size",
        "test_a_gzip_file_fails_alike_wherever_it_is_cut_off",
        "test_a_header_and_blanked_lines_are_no_values_with_any_delimiter",
        "test_ctrl_c_ends_waiting_for_standard_input",
        "test_hostile_bytes_at_every_offset_around_small_buffers",
        "test_one_more_record_in_front_moves_its_own_bucket_only",
        "test_standard_input_beside_files_publishes_no_header",
        "test_standard_input_that_is_closed_is_refused",
        "test_the_length_of_a_line_is_limited_by_itself_alone",
        "test_whole_files_around_the_real_buffers",
    ],
    "tables/test_long_texts.py": ["test_a_huge_cell_changes_no_other_record_s_bucket"],
    "tables/test_nan_in_parquet.py": ["test_nan_counts_nowhere", "test_nan_counts_nowhere_in_several_columns"],
    "tables/test_ranks_of_files.py": ["test_standard_input"],
    "tables/test_sizes.py": [
        "test_counts_that_spill_are_the_same",
        "test_one_more_record_in_front_of_all_others",
        "test_units_that_spill_are_bounded_alike",
    ],
    "tables/test_strange_floats.py": ["test_a_strange_float_is_silent_and_changes_its_own_bucket_alone"],
    "tables/test_where.py": [
        "test_cells_without_a_type_are_read_as_what_they_are_compared_with",
        "test_many_random_texts",
        "test_nan_passes_no_test_whatever_the_statistics_of_a_file",
        "test_random_texts_are_refused_or_counted",
    ],
    "tables/test_which_bucket.py": [
        "test_values_at_the_bounds_and_beyond_are_in_the_outermost_buckets",
        "test_zeros_of_both_signs_are_one_bucket_of_a_unit",
    ],
    "tables/test_check.py": [
        "test_all_columns_in_one_pass_and_only_those_that_are_named",
        "test_each_example_alone_has_its_reason",
        "test_lines_that_cannot_be_read_are_counted_apart",
    ],
    "tables/test_json_arrays.py": [
        "test_elements_are_those_of_a_parser",
        "test_one_strange_element_moves_its_own_bucket_alone",
    ],
    "tables/test_workbooks.py": [
        "test_arrow_files_are_read_by_their_declared_types",
        "test_one_strange_cell_moves_its_own_bucket_alone",
    ],
    "tables/test_written.py": [
        "test_dates_are_those_of_strptime",
        "test_numbers_are_those_of_an_oracle_that_uses_no_pattern",
        "test_one_strange_cell_moves_its_own_bucket_alone",
    ],
    "test_measure.py": ["test_error_is_the_distance_to_what_could_have_been"],
    "web/test_web_server.py": [
        "test_it_runs_quietly_and_ends_without_a_word",
        "test_told_to_end_it_ends",
        "test_without_the_extra_the_remedy_is_named",
    ],
}

# Spark takes seconds a statement: ``make test`` runs a case of each kind on it, ``make deep`` all of them.
DEEP = os.environ.get("FLEXDP_DEEP") == "1"
ON_SPARK = {
    "test_every_engine_counts_alike": [
        "bounded",
        "datetimes by month",
        "decimals",
        "declared",
        "grid",
        "groups",
        "integers",
        "lenient-units",
        "lenient-wide",
        "mean",
        "open width",
        "relative",
        "texts",
        "units",
        "wide",
        "zoned",
    ],
    "test_every_engine_counts_in_open_buckets_alike": ["days", "integers", "numbers", "wide"],
    "test_a_text_is_read_up_to_the_same_length": ["{'column': 't'}"],
    "test_every_engine_ranks_alike": ["on the engine-integers", "on the engine-units"],
    "test_every_engine_lists_and_answers_alike": [],
    "test_the_same_bits_give_the_same_release": [],
    "test_derived_columns_are_the_same_on_every_engine": ["spark"],
    "test_random_tests_mean_the_same": [],
    "test_ranks_are_those_of_the_records_that_pass": [],
    "test_tables_without_a_readable_record": ["on the engine-odd"],
    "test_the_filter_comes_before_groups_and_units": ["spark"],
    "test_the_same_records_pass_on_every_engine": ["spark"],
    "test_random_tables_are_counted_as_duckdb_does": [],
}

# A shell that runs the tests in the background ignores Ctrl-C, which some of them need.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Repetitions and enumerations that take long and have a shorter sibling in ``make test``.
LONG: dict[str, list[str]] = {}

# Hypothesis measures time in two places; both would fail on a busy machine.
settings.register_profile(
    "flexdp", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100 if DEEP else 40
)
settings.register_profile("quick", settings.get_profile("flexdp"), max_examples=25)  # for ``make quick``
settings.load_profile("flexdp")


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by folder and by name, for ``make quick``; leave most cases on Spark to ``make deep``."""
    left = [] if DEEP else [item for item in items if not _runs(item)]
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = [item for item in items if _runs(item)]
    for item in items:
        place = item.path.relative_to(Path(__file__).parent)
        if place.parts[0] in FOLDERS:
            item.add_marker(FOLDERS[place.parts[0]])
        if item.name.split("[")[0] in SLOW.get(place.as_posix(), ()):
            item.add_marker("slow")


def _runs(item: pytest.Item) -> bool:
    """Return False for a test, or a case on Spark, that ``make deep`` alone runs."""
    name, _, case = item.name.partition("[")
    case = case.removesuffix("]")
    if name in LONG.get(item.path.relative_to(Path(__file__).parent).as_posix(), ()):
        return False
    if name not in ON_SPARK or "spark" not in case:
        return True
    return case.removeprefix("spark-").removesuffix("-spark") in ON_SPARK[name]


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
