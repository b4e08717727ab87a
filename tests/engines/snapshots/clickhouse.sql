-- numbers between bounds
SELECT b0, count(*) AS records
FROM (
  SELECT (floor(greatest(least((v0 - 0.0) / 5.0, 23.0), 0.0)) + 0) AS b0
  FROM (SELECT toFloat64(`age`) AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- numbers between bounds on both sides of zero
SELECT b0, count(*) AS records
FROM (
  SELECT (floor(greatest(least(v0 / 5.0, 9.0), -10.0)) + 0) + 10 AS b0
  FROM (SELECT toFloat64(`age`) AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- declared groups
SELECT b0, b1, count(*) AS records
FROM (
  SELECT v0 AS b0, (floor(v1 / 5.0) + 0) AS b1
  FROM (SELECT CASE WHEN isValidUTF8(toString(`ward`)) THEN toString(`ward`) END AS v0, toFloat64(`age`) AS v1 FROM source) AS t
  WHERE length(v0) <= 65536 AND v1 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16 AND v0 IN ('A', unhex('6F2763'))
) AS k
GROUP BY b0, b1
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- integers on an open domain
SELECT b0, count(*) AS records
FROM (
  SELECT accurateCastOrNull(CASE WHEN v0 >= 0 THEN intDiv(accurateCastOrNull(v0, 'Int64'), 7) ELSE -1 - intDiv(-1 - accurateCastOrNull(v0, 'Int64'), 7) END, 'Int64') AS b0
  FROM (SELECT accurateCastOrNull(`visits`, 'Int64') AS v0 FROM source) AS t
  WHERE v0 IS NOT NULL
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- numbers filtered by another
SELECT b0, count(*) AS records
FROM (
  SELECT (floor(v0 / 5.0) + 0) AS b0
  FROM (SELECT toFloat64(`age`) AS v0 FROM source WHERE (((toFloat64(`cost`)) < 50.0 AND (toFloat64(`cost`)) BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308) AND ((CASE WHEN isValidUTF8(toString(`ward`)) THEN toString(`ward`) END) <> 'B' AND length(CASE WHEN isValidUTF8(toString(`ward`)) THEN toString(`ward`) END) <= 65536))) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- edges, filtered by another number
SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN v0 < 65.0 THEN 0 ELSE 1 END AS b0
  FROM (SELECT toFloat64(`age`) AS v0 FROM source WHERE ((toFloat64(`cost`)) < 50.0 AND (toFloat64(`cost`)) BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308)) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- edges
SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN v0 < 65.0 THEN CASE WHEN v0 < 18.0 THEN 0 ELSE 1 END ELSE 2 END AS b0
  FROM (SELECT toFloat64(`age`) AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- months
SELECT b0, count(*) AS records
FROM (
  SELECT accurateCastOrNull(intDiv(12 * (400 * (intDiv(z0, 146097)) + yoe0) + intDiv(5 * doy0 + 2, 153) + 2, 1), 'Int64') AS b0
  FROM (SELECT *, doe0 - (365 * yoe0 + intDiv(yoe0, 4) - intDiv(yoe0, 100)) AS doy0 FROM (SELECT *, intDiv(doe0 - intDiv(doe0, 1460) + intDiv(doe0, 36524) - intDiv(doe0, 146096), 365) AS yoe0 FROM (SELECT *, z0 - 146097 * (intDiv(z0, 146097)) AS doe0 FROM (SELECT *, intDiv(accurateCastOrNull(v0, 'Int64') + 719468, 1) AS z0 FROM (SELECT toInt64(`day`) AS v0 FROM source) AS t
  WHERE v0 IS NOT NULL) AS t) AS t) AS t) AS t
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- units, at most two buckets each
SELECT b0, count(*) AS records
FROM (
  SELECT b0 FROM (SELECT b0, row_number() OVER (PARTITION BY u ORDER BY lower(hex(MD5('salt:' || toString(u) || ':' || toString(accurateCastOrNull(b0, 'Int64'))))) ASC, b0 ASC) AS place FROM (SELECT DISTINCT u, b0 FROM (SELECT accurateCastOrNull((floor(v0 / 5.0) + 0), 'Int64') AS b0, u
  FROM (SELECT toFloat64(`age`) AS v0, accurateCastOrNull(`who`, 'Int64') AS u FROM source) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16 AND u IS NOT NULL) AS e) AS d) AS r WHERE place <= 2
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN n > 2 THEN 1 ELSE 0 END AS b0 FROM (SELECT u, count(*) AS n FROM (SELECT DISTINCT u, b0 FROM (SELECT accurateCastOrNull((floor(v0 / 5.0) + 0), 'Int64') AS b0, u
  FROM (SELECT toFloat64(`age`) AS v0, accurateCastOrNull(`who`, 'Int64') AS u FROM source) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16 AND u IS NOT NULL) AS e) AS d GROUP BY u) AS o
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';

-- the mean of each unit
SELECT b0, count(*) AS records
FROM (
  SELECT accurateCastOrNull((floor(v0 / 5.0) + 0), 'Int64') AS b0, u
  FROM (SELECT u, greatest(least(arrayFold((total, next) -> total + next, arraySort(groupArray(CASE WHEN v0 BETWEEN -1e-280 AND 1e-280 THEN 0.0 ELSE v0 / n END)), 0.0), max(v0)), min(v0)) AS v0 FROM (SELECT u, v0, count(*) OVER (PARTITION BY u) AS n FROM (SELECT toFloat64(`age`) AS v0, accurateCastOrNull(`who`, 'Int64') AS u FROM source) AS m WHERE u IS NOT NULL AND v0 BETWEEN -1e+307 AND 1e+307) AS s GROUP BY u) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16
) AS k
GROUP BY b0
SETTINGS join_use_nulls = 1, cast_keep_nullable = 1, prefer_column_name_to_alias = 1, least_greatest_legacy_null_behavior = 1, union_default_mode = 'ALL', enable_materialized_cte = 1, precise_float_parsing = 1, limit = 0, offset = 0, max_rows_to_group_by = 0, distinct_overflow_mode = 'throw', result_overflow_mode = 'throw';
