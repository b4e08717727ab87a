"""Settings of all tests: markers by folder, no clocks, no colours, and one worker for each server."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _support.faults import raise_mistakes
from _support.lite import close_all
from hypothesis import HealthCheck, settings

from flexdp._core.faults import watch_in_tests
from flexdp.tables.engines.duckdb.session import engines_kept

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
        "test_no_flipped_byte_gives_budget_back",
    ],
    "audit/test_audit_command.py": ["test_a_release_is_audited_as_it_is_described", "test_as_a_process_of_its_own"],
    "audit/test_audit_runs.py": [
        "test_and_what_is_right_is_cleared",
        "test_false_alarms_are_as_rare_as_stated",
        "test_the_zoo_of_faults_is_caught",
    ],
    "audit/test_exact_delta.py": [
        "test_steps_of_sharp_answers_hold_and_not_much_less",
        "test_two_buckets_with_a_reach_of_219",
        "test_whole_chains_of_answers_hold_and_not_much_less",
    ],
    "audit/test_search.py": [
        "test_a_kind_taken_from_a_dtype",
        "test_a_repair_that_is_undone_is_found",
        "test_control_nothing_is_found_without_a_fault",
        "test_epsilon_that_is_not_divided_by_the_buckets_of_a_unit",
        "test_epsilon_that_is_not_divided_by_the_records_of_a_unit",
        "test_neighbours_are_not_told_apart",
        "test_the_command",
    ],
    "audit/test_grid_of_configurations.py": ["test_every_configuration_has_the_privacy_it_claims"],
    "baselines/test_baselines.py": [
        "test_jump_costs_are_those_of_all_histograms",
        "test_so_they_are_under_the_other_rules_for_ties",
    ],
    "baselines/test_exact_laws.py": [
        "test_control_the_enumeration_sees_one_record_too_few",
        "test_laws_of_real_bars_are_integrals",
        "test_laws_of_whole_bars_are_those_of_all_noisy_histograms",
    ],
    "calculus/test_chains.py": [
        "test_grouping_does_not_matter_for_random_mechanisms",
        "test_no_outcome_contradicts_the_accuracy_that_is_derived",
        "test_no_pair_of_neighbours_contradicts_the_privacy_that_is_derived",
    ],
    "calculus/test_finite.py": [
        "test_a_loss_of_the_input_is_looked_for_everywhere",
        "test_distortion_sensitivity_is_the_worst_case_of_the_definition",
        "test_error_sensitivity_is_the_worst_case_of_the_definition",
        "test_masses_of_any_size_are_added_up_exactly",
        "test_metric_sensitivity_is_the_largest_over_pairs_and_an_error_sensitivity",
        "test_mixtures_match_as_much_as_another_solver_finds",
        "test_relaxed_sensitivities_compose_as_chains_compose_them",
        "test_the_composition_theorem_holds_as_printed",
    ],
    "calculus/test_privacy.py": ["test_buckets_and_total_share_a_budget"],
    "calculus/test_theorem.py": ["test_dropping_is_what_it_declares_on_a_small_space"],
    "cli/test_cli.py": [
        "test_a_closed_pipe_is_no_failure",
        "test_a_count_that_is_told_to_end_does_and_leaves_nothing",
        "test_a_full_standard_output_is_no_surprise",
        "test_a_release_whose_file_cannot_be_written_is_printed_whole",
        "test_a_terminal_gets_a_table",
        "test_an_ascii_locale_still_prints",
        "test_bad_sources_are_one_line_exit_2",
        "test_closed_streams",
        "test_demo_runs_without_network_or_file",
        "test_interrupt_while_nothing_comes_through_the_pipe",
        "test_line_ends_through_a_pipe",
        "test_missing_options_are_named",
        "test_output_that_cannot_be_printed_says_what_it_cost",
        "test_release_prints_sentences_in_a_pipe",
        "test_standard_input_as_pipe_and_as_file",
        "test_without_a_command_the_help_is_shown",
    ],
    "cli/test_codes.py": ["test_a_locked_file_is_unavailable"],
    "cli/test_help_examples.py": ["test_examples_run_as_they_are_written"],
    "cli/test_wrong_words.py": ["test_every_wrong_word_is_one_line"],
    "core/test_numbers.py": [
        "test_every_number_its_own_bar",
        "test_integers",
        "test_numbers_between_edges",
        "test_numbers_in_buckets_of_a_width",
        "test_numbers_in_relative_buckets",
    ],
    "core/test_wrong_values.py": ["test_every_wrong_value_is_taken_or_refused_in_one_line"],
    "distances/test_distances.py": ["test_compiled_and_plain_paths_agree", "test_without_numba_the_same_source_runs"],
    "distances/test_distortions.py": ["test_many_bars_compiled", "test_the_laws_of_a_quasi_metric"],
    "fuzz/test_replay.py": ["test_seeds_and_their_likes_break_nothing"],
    "house/test_docs.py": ["test_plans_are_printed_as_shown", "test_the_guide_to_measuring_and_composing_runs"],
    "house/test_example_scripts.py": ["test_a_script_shows_what_it_is_for", "test_the_planning_notebook"],
    "house/test_extras.py": [
        "test_a_missing_package_is_named_with_the_command_that_installs_it",
        "test_releases_reports_and_plans_need_no_optional_package",
    ],
    "house/test_house.py": [
        "test_every_module_names_its_exports_and_says_what_it_is",
        "test_every_room_is_placed_and_imports_upwards",
        "test_no_module_of_a_room_needs_itself",
    ],
    "house/test_notebook.py": ["test_run_again"],
    "house/test_pages.py": ["test_the_code_of_a_page_runs", "test_the_code_of_a_page_runs_with_less_work"],
    "house/test_readme.py": ["test_the_command_lines", "test_the_python_examples"],
    "house/test_windows.py": [
        "test_a_release_from_a_pipe_and_a_file",
        "test_every_module_is_imported",
        "test_the_control_fails",
    ],
    "measure/test_distorted.py": [
        "test_points_move_on_a_domain",
        "test_records_that_move_on_the_line",
        "test_supports_in_the_plane",
        "test_texts_move_by_an_edit_distance",
    ],
    "measure/test_found_errors.py": ["test_found_errors_are_attained_and_close_to_those_of_all_data_sets"],
    "measure/test_measure.py": [
        "test_error_is_the_distance_to_what_could_have_been",
    ],
    "measure/test_randomised.py": [
        "test_deterministic_statistics_are_a_special_case",
        "test_the_programme_is_the_minimum_cut",
    ],
    "mechanisms/test_mechanisms.py": ["test_measured_errors_stay_within_the_derived_guarantee"],
    "mechanisms/test_values.py": ["test_a_changed_document_is_another_mechanism_or_refused"],
    "planning/test_commands.py": [
        "test_groups_in_a_plan",
        "test_a_larger_epsilon_is_named_only_where_it_leaves_something",
        "test_what_a_plan_says_is_left_is_left",
    ],
    "planning/test_plan.py": ["test_planning_loads_neither_an_engine_nor_scipy"],
    "planning/test_sharp_plans.py": ["test_the_command_that_a_plan_ends_in_works"],
    "properties/test_canaries.py": [
        "test_a_lone_value_never_shows",
        "test_failures_after_data_was_touched_all_look_alike",
        "test_the_command_line_leaks_nothing",
        "test_the_engine_shows_no_progress",
        "test_the_number_of_rows_never_shows",
    ],
    "properties/test_hostile_rows.py": [
        "test_both_zeros_of_a_unit_are_one_bar_to_the_hash",
        "test_texts_and_categories_of_pandas_are_read_like_a_list",
    ],
    "properties/test_outcome_classes.py": [
        "test_most_parameters_succeed_on_every_source",
        "test_rows_do_not_decide_how_a_release_ends",
        "test_rows_do_not_decide_the_exit_code",
    ],
    "properties/test_random_arguments.py": [
        "test_check",
        "test_distances_and_distortions",
        "test_plan",
        "test_query",
        "test_release",
        "test_summary",
    ],
    "properties/test_process_faults.py": [
        "test_a_fork_between_releases_is_none_of_our_business",
        "test_a_fork_inside_a_release_is_refused_and_ends",
        "test_signals_during_imports_and_in_callbacks_are_one_line",
        "test_threads_and_cancelled_tasks_release_alike",
        "test_too_small_an_address_space_is_one_line",
        "test_without_home_and_environment",
    ],
    "release/test_asked.py": [
        "test_command_line",
        "test_documents_there_and_back",
        "test_groups_that_are_not_known_are_listed_first",
        "test_pages_cards_frames_and_certificates_tell_all_answers",
        "test_promised_ranks_hold",
        "test_sentences",
        "test_tampered_documents_are_refused",
        "test_the_document_fits_the_schema",
    ],
    "release/test_automatic.py": [
        "test_a_changed_document_is_refused",
        "test_an_outlier_is_counted_and_moves_nothing_else",
        "test_a_release_takes_few_statements",
        "test_every_ordered_kind",
        "test_groups_share_their_edges",
        "test_one_value_a_unit_costs_what_a_record_costs",
        "test_several_buckets_a_unit_divide_the_budget",
        "test_the_same_bits_give_the_same_release_on_every_engine",
    ],
    "release/test_former_documents.py": ["test_the_command_line_reports_a_document_of_the_first_schema"],
    "release/test_grid.py": [
        "test_a_pipe_is_read_once",
        "test_groups_on_the_command_line_may_hold_commas",
        "test_no_point_is_further_than_beta_from_the_middle_of_its_cell",
        "test_plans_take_public_samples_of_moments",
        "test_several_columns_are_counted_in_one_pass_as_they_are_alone",
        "test_sources_count_cells_alike",
        "test_the_example_runs",
    ],
    "release/test_groups.py": [
        "test_all_sources_count_groups_alike",
        "test_each_group_is_read_as_if_it_were_alone",
        "test_only_declared_groups_count",
        "test_several_group_columns",
        "test_statements_about_all_groups_hold_whatever_was_dropped",
    ],
    "release/test_hostile_documents.py": ["test_a_tampered_document_is_a_release_or_refused"],
    "release/test_interpolation.py": ["test_quantiles_rise_with_their_level_and_stay_in_the_sure_interval"],
    "release/test_release.py": [
        "test_all_sources_count_alike",
        "test_certified_statements_hold_for_every_drop",
        "test_integers_are_counted_as_integers",
        "test_json_follows_the_documented_schema",
        "test_modules_are_there_when_they_are_asked_for",
        "test_query_runs_nothing_and_names_no_value",
    ],
    "release/test_salt.py": ["test_every_release_draws_a_salt_of_its_own"],
    "release/test_same_words.py": ["test_json_sentence_card_and_page_say_the_same"],
    "release/test_summary.py": [
        "test_all_columns_share_one_budget_and_need_no_widths",
        "test_command_line",
        "test_the_guide",
    ],
    "release/test_times.py": [
        "test_dates_fall_into_the_buckets_of_the_calendar",
        "test_every_timestamp_type_is_rounded_down",
        "test_moments_fall_into_the_buckets_of_the_calendar",
        "test_moments_of_a_zone_are_read_by_its_clocks",
    ],
    "release/test_typing.py": ["test_a_type_checker_catches_wrong_choices_and_passes_correct_calls"],
    "release/test_units.py": [
        "test_a_certified_total_bounds_what_was_left_out",
        "test_a_fresh_salt_chooses_afresh",
        "test_bounds_are_those_of_the_means",
        "test_each_unit_is_in_few_bars_once",
        "test_one_unit_changes_at_most_k_bars_by_one",
        "test_one_value_of_each_unit",
    ],
    "report/test_charts.py": [
        "test_bars_are_as_tall_as_their_counts",
        "test_maps_stay_small",
        "test_pictures_stay_small",
    ],
    "report/test_page.py": ["test_the_same_file_from_everywhere"],
    "report/test_pebbles.py": [
        "test_any_order_of_steps_is_drawn",
        "test_pictures_are_sound_and_fit_a_telephone",
        "test_what_is_drawn_exists_and_is_within_its_bounds",
    ],
    "statistics/test_attainable.py": [
        "test_lists_of_frequent_keys_are_those_of_the_enumeration",
        "test_quantile_sets_at_any_level",
        "test_sets_are_those_of_the_enumeration",
    ],
    "tables/test_arrow_streams.py": [
        "test_asked_answers_and_several_columns_of_a_stream",
        "test_streams_are_counted_as_their_table_is",
    ],
    "tables/test_check.py": [
        "test_all_columns_in_one_pass_and_only_those_that_are_named",
        "test_each_example_alone_has_its_reason",
        "test_lines_that_cannot_be_read_are_counted_apart",
        "test_lists_dicts_frames_and_databases_are_read_as_a_release_reads_them",
    ],
    "tables/test_duckdb_files.py": [
        "test_tables_schemas_and_views_of_a_file",
        "test_threads_take_turns_on_one_connection_and_its_cursors",
    ],
    "tables/test_encodings.py": ["test_what_cannot_be_decoded_is_not_counted_and_moves_nothing_else"],
    "tables/test_hostile.py": [
        "test_one_strange_date",
        "test_one_strange_integer",
        "test_one_strange_line_of_csv",
        "test_one_strange_line_of_json",
        "test_one_strange_number",
    ],
    "tables/test_inferred_types.py": [
        "test_one_cell_that_changes_a_dtype_changes_no_other_bucket",
        "test_the_command_line_reads_groups_and_units_by_kind",
        "test_the_dtype_decides_nothing",
    ],
    "tables/test_json_arrays.py": [
        "test_elements_are_those_of_a_parser",
        "test_one_strange_element_moves_its_own_bucket_alone",
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
    "tables/test_nan_in_parquet.py": [
        "test_nan_counts_nowhere",
        "test_nan_counts_nowhere_in_several_columns",
        "test_nan_has_no_rank",
    ],
    "tables/test_plans.py": [
        "test_files_that_are_read_twice_or_with_numbers_of_rows",
        "test_lazy_frames_that_pass",
        "test_relations_of_duckdb_that_pass",
    ],
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
        "test_each_of_several_columns_counts_its_own_declared_groups_and_none_of_its_missing_cells",
        "test_values_at_the_bounds_and_beyond_are_in_the_outermost_buckets",
        "test_zeros_of_both_signs_are_one_bucket_of_a_unit",
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
    "test_every_engine_ranks_alike": ["all values-integers", "pieces-integers", "pieces-units"],
    "test_every_engine_lists_and_answers_alike": [],
    "test_the_same_bits_give_the_same_release": [],
    "test_derived_columns_are_the_same_on_every_engine": ["spark"],
    "test_random_tests_mean_the_same": [],
    "test_ranks_are_those_of_the_records_that_pass": [],
    "test_tables_without_a_readable_record": ["pieces-odd"],
    "test_the_filter_comes_before_groups_and_units": ["spark"],
    "test_the_same_records_pass_on_every_engine": ["spark"],
    "test_random_tables_are_counted_as_duckdb_does": [],
    "test_one_line_for_each_engine": [],
}

# A shell that runs the tests in the background ignores Ctrl-C, and nohup a hangup: some tests need them.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)
if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
    signal.signal(signal.SIGHUP, signal.SIG_DFL)

# Repetitions and enumerations that take long and have a shorter sibling in ``make test``.
LONG: dict[str, list[str]] = {
    "accounting/test_ledger_faults.py": ["test_killed_500_times"],
    "audit/test_audit_command.py": ["test_a_release_that_counts_each_time"],
    "engines/test_spark_connect.py": ["test_spark_executors_that_are_killed_while_they_count"],
}

# Sources that another one stands for: PostgreSQL by a second driver, and frames that DuckDB reads as it reads those of
# polars. ``make test`` runs these tests without them; all others, the contract suite among them, with every source.
TWINS = {"pg8000", "lazy", "pyarrow"}
WITHOUT_TWINS = {
    "test_cells_are_monotone",
    "test_every_engine_lists_and_answers_alike",
    "test_every_engine_ranks_alike",
    "test_one_record_moves_every_rank_by_at_most_one",
    "test_tables_without_a_readable_record",
    "test_the_same_bits_give_the_same_release",
}

# Tests of many similar cases: ``make test`` runs so many, spread over all of them, and ``make deep`` the others, too.
FEWER = {
    "tables/test_hostile.py": {
        "test_one_strange_number": 46,
        "test_one_strange_integer": 12,
        "test_one_strange_line_of_csv": 43,  # every line in one or two of its three places
        "test_one_unsigned_integer_beyond_127_bits_raises_nothing": 9,
    },
    "tables/test_arrow_streams.py": {"test_streams_are_counted_as_their_table_is": 27},
    "tables/test_nan_in_filters.py": {"test_the_same_records_are_counted_by_every_partition": 32},
    "tables/test_nan_in_parquet.py": {"test_nan_counts_nowhere": 28},
    "tables/test_sizes.py": {"test_one_more_record_in_front_of_all_others": 54},
    "release/test_automatic.py": {"test_the_same_bits_give_the_same_release_on_every_engine": 4},
    "engines/test_ranks.py": {"test_every_engine_ranks_alike": 50, "test_tables_without_a_readable_record": 16},
    "engines/test_replay.py": {
        "test_choices_and_answers_keep_their_shape": 8,
        "test_commands_print_and_end_alike": 4,
    },
    "engines/test_restart.py": {"test_a_restart_in_the_middle_is_one_line": 2},
    "engines/test_sessions.py": {"test_sqlite_finds_one_of_millions_of_buckets_for_units": 4},
}

# Hypothesis measures time in two places; both would fail on a busy machine.
settings.register_profile(
    "flexdp", deadline=None, suppress_health_check=[HealthCheck.too_slow], max_examples=100 if DEEP else 40
)
settings.register_profile("quick", settings.get_profile("flexdp"), max_examples=8)  # for ``make quick``
settings.load_profile("flexdp")


# ``--quick`` runs this many cases of each test, spread over all of them.
QUICK_CASES = 2


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--quick``, the option behind ``make quick``."""
    parser.addoption("--quick", action="store_true", help="a few cases of each test that is fast and needs no server")


def pytest_configure(config: pytest.Config) -> None:
    """Draw fewer random cases for ``--quick``."""
    if config.getoption("quick"):
        settings.load_profile("quick")


@pytest.fixture(autouse=True)
def _mistakes_are_raised(request: pytest.FixtureRequest) -> Iterator[None]:
    """Raise what users see as one error, if it is no fault of data, but in tests marked ``any_fault``."""
    watch_in_tests(None if request.node.get_closest_marker("any_fault") is not None else raise_mistakes)
    yield
    watch_in_tests(None)


@pytest.fixture(autouse=True)
def _no_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(autouse=True)
def _one_engine(request: pytest.FixtureRequest) -> Iterator[None]:
    """Start our own DuckDB once a test, as a release does: its start costs more than a count of a small table.

    It reads the metadata of a file once. Tests that write one again, or look at what an engine leaves behind, are
    marked ``own_engines``, and so are those of the release itself.
    """
    if request.node.get_closest_marker("own_engines") is not None:
        yield
        return
    with engines_kept():
        yield


@pytest.fixture(autouse=True)
def _databases_are_closed() -> Iterator[None]:
    yield
    close_all()


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by folder and by name, for ``make quick``; leave most cases on Spark to ``make deep``."""
    if not DEEP:
        _leave(config, items, [item for item in items if not _runs(item)])
        # The cases that were chosen for Spark run beside those.
        others = [item for item in items if item.name.split("[")[0] not in ON_SPARK or "spark" not in item.name]
        _leave(config, items, _beyond(others, lambda place, name: FEWER.get(place, {}).get(name)))
    for item in items:
        place = item.path.relative_to(Path(__file__).parent)
        if place.parts[0] in FOLDERS:
            item.add_marker(FOLDERS[place.parts[0]])
        if item.name.split("[")[0] in SLOW.get(place.as_posix(), ()):
            item.add_marker("slow")
    if config.getoption("quick"):
        _leave(config, items, [item for item in items if {"slow", "engine", "browser"} & set(item.keywords)])
        _leave(config, items, _beyond(items, lambda _place, _name: QUICK_CASES))


def _leave(config: pytest.Config, items: list[pytest.Item], left: list[pytest.Item]) -> None:
    """Take out the tests that are not to run."""
    if left:
        config.hook.pytest_deselected(items=left)
        chosen = {id(item) for item in left}
        items[:] = [item for item in items if id(item) not in chosen]


def _beyond(items: list[pytest.Item], most: Callable[[str, str], int | None]) -> list[pytest.Item]:
    """Return the cases of each test beyond so many, which are chosen evenly: the first, the last and some between."""
    cases: dict[tuple[str, str], list[pytest.Item]] = {}
    for item in items:
        place = item.path.relative_to(Path(__file__).parent).as_posix()
        cases.setdefault((place, item.name.split("[")[0]), []).append(item)
    left = []
    for (place, name), group in cases.items():
        many = most(place, name)
        if many is not None and len(group) > many:
            kept = {round(i * (len(group) - 1) / (many - 1)) for i in range(many)}
            left += [item for i, item in enumerate(group) if i not in kept]
    return left


def _runs(item: pytest.Item) -> bool:
    """Return False for a test, or a case on Spark or a twin, that ``make deep`` alone runs."""
    name, _, case = item.name.partition("[")
    case = case.removesuffix("]")
    if name in LONG.get(item.path.relative_to(Path(__file__).parent).as_posix(), ()):
        return False
    if name in WITHOUT_TWINS and TWINS & set(case.split("-")):
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
            if "engines/" not in nodeid or "[local " in nodeid:
                return nodeid
            return "spark" if "spark" in nodeid else "databases"

    return ByEngine(config, log)
