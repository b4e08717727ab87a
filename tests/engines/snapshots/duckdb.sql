-- numbers between bounds
SELECT b0, CAST(sum(records) AS BIGINT) AS records
FROM (SELECT CASE WHEN NOT isnan(b0) THEN greatest(least(b0, 23.0e0), 0.0e0) END AS b0, records FROM (
SELECT b0 + 0 * random() AS b0, records FROM (
SELECT b0, count(*) AS records
FROM (
  SELECT floor((v0 - 0.0e0) / 5.0e0) AS b0
  FROM (SELECT CAST("age" AS DOUBLE) AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
) AS k
GROUP BY b0
) AS c) AS h) AS a
GROUP BY b0;

-- numbers between bounds on both sides of zero
SELECT b0, CAST(sum(records) AS BIGINT) AS records
FROM (SELECT CASE WHEN NOT isnan(b0) THEN greatest(least(b0, 19.0e0), 0.0e0) END AS b0, records FROM (
SELECT b0 + 0 * random() AS b0, records FROM (
SELECT b0, count(*) AS records
FROM (
  SELECT floor(v0 / 5.0e0) + 10 AS b0
  FROM (SELECT CAST("age" AS DOUBLE) AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
) AS k
GROUP BY b0
) AS c) AS h) AS a
GROUP BY b0;

-- declared groups
SELECT b0, b1, count(*) AS records
FROM (
  SELECT v0 COLLATE "C" AS b0, floor(v1 / 5.0e0) AS b1
  FROM (SELECT TRY_CAST("ward" AS VARCHAR) AS v0, CAST("age" AS DOUBLE) AS v1 FROM source) AS t
  WHERE strlen(v0) <= 65536 AND v1 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16 AND v0 COLLATE "C" IN ('A', 'o''c')
) AS k
GROUP BY b0, b1;

-- integers on an open domain
SELECT b0, count(*) AS records
FROM (
  SELECT CAST(CASE WHEN v0 >= 0 THEN (CAST(v0 AS BIGINT)) // 7 ELSE -1 - (-1 - CAST(v0 AS BIGINT)) // 7 END AS BIGINT) AS b0
  FROM (SELECT "visits" AS v0 FROM source) AS t
  WHERE v0 IS NOT NULL
) AS k
GROUP BY b0;

-- numbers filtered by another
SELECT b0, count(*) AS records
FROM (
  SELECT floor(v0 / 5.0e0) AS b0
  FROM (SELECT CAST("age" AS DOUBLE) AS v0 FROM source WHERE (((CAST("cost" AS DOUBLE)) < 50.0e0 AND (CAST("cost" AS DOUBLE)) - (CAST("cost" AS DOUBLE)) = 0e0) AND ((TRY_CAST("ward" AS VARCHAR)) COLLATE "C" <> 'B' AND strlen(TRY_CAST("ward" AS VARCHAR)) <= 65536))) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16
) AS k
GROUP BY b0;

-- edges, filtered by another number
SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN v0 < 65.0e0 THEN 0 ELSE 1 END AS b0
  FROM (SELECT CAST("age" AS DOUBLE) + 0 * random() AS v0 FROM source WHERE ((CAST("cost" AS DOUBLE)) < 50.0e0 AND (CAST("cost" AS DOUBLE)) - (CAST("cost" AS DOUBLE)) = 0e0)) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
) AS k
GROUP BY b0;

-- edges
SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN v0 < 65.0e0 THEN CASE WHEN v0 < 18.0e0 THEN 0 ELSE 1 END ELSE 2 END AS b0
  FROM (SELECT CAST("age" AS DOUBLE) + 0 * random() AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308 AND 1.7976931348623157e+308
) AS k
GROUP BY b0;

-- months
SELECT b0, count(*) AS records
FROM (
  SELECT CAST((12 * (400 * ((z0) // 146097) + yoe0) + (5 * doy0 + 2) // 153 + 2) // 1 AS BIGINT) AS b0
  FROM (SELECT *, doe0 - (365 * yoe0 + (yoe0) // 4 - (yoe0) // 100) AS doy0 FROM (SELECT *, (doe0 - (doe0) // 1460 + (doe0) // 36524 - (doe0) // 146096) // 365 AS yoe0 FROM (SELECT *, z0 - 146097 * ((z0) // 146097) AS doe0 FROM (SELECT *, (CAST(v0 AS BIGINT) + 719468) // 1 AS z0 FROM (SELECT CASE WHEN "day" BETWEEN DATE '0001-01-01' AND DATE '9999-12-31' THEN datediff('day', DATE '1970-01-01', "day") END AS v0 FROM source) AS t
  WHERE v0 IS NOT NULL) AS t) AS t) AS t) AS t
) AS k
GROUP BY b0;

-- units, at most two buckets each
SELECT b0, count(*) AS records
FROM (
  SELECT b0 FROM (SELECT b0, row_number() OVER (PARTITION BY u ORDER BY md5('salt:' || CAST(u AS VARCHAR) || ':' || CAST(CAST(b0 AS BIGINT) AS VARCHAR)) ASC, b0 ASC) AS place FROM (SELECT DISTINCT u, b0 FROM (SELECT CAST(floor(v0 / 5.0e0) AS BIGINT) AS b0, u
  FROM (SELECT CAST("age" AS DOUBLE) + 0 * random() AS v0, "who" AS u FROM source) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16 AND u IS NOT NULL) AS e) AS d) AS r WHERE place <= 2
) AS k
GROUP BY b0;

SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN n > 2 THEN 1 ELSE 0 END AS b0 FROM (SELECT u, count(*) AS n FROM (SELECT DISTINCT u, b0 FROM (SELECT CAST(floor(v0 / 5.0e0) AS BIGINT) AS b0, u
  FROM (SELECT CAST("age" AS DOUBLE) + 0 * random() AS v0, "who" AS u FROM source) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16 AND u IS NOT NULL) AS e) AS d GROUP BY u) AS o
) AS k
GROUP BY b0;

-- the mean of each unit
SELECT b0, count(*) AS records
FROM (
  SELECT CAST(floor(v0 / 5.0e0) AS BIGINT) AS b0, u
  FROM (SELECT u, greatest(least(sum(CASE WHEN v0 BETWEEN -1e-280 AND 1e-280 THEN 0.0e0 ELSE v0 / n END ORDER BY v0 ASC), max(v0)), min(v0)) AS v0 FROM (SELECT u, v0, count(*) OVER (PARTITION BY u) AS n FROM (SELECT CAST("age" AS DOUBLE) + 0 * random() AS v0, "who" AS u FROM source) AS m WHERE u IS NOT NULL AND v0 BETWEEN -1e+307 AND 1e+307) AS s GROUP BY u) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16 AND 1.125899906842624e+16
) AS k
GROUP BY b0;
