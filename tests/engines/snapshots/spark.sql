-- numbers between bounds
SELECT b0, count(*) AS records
FROM (
  SELECT least(floor((greatest(least(v0, 120.0D), 0.0D) - 0.0D) / 5.0D), CAST(23 AS BIGINT)) AS b0
  FROM (SELECT CAST(`age` AS DOUBLE) AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D
) AS k
GROUP BY b0;

-- numbers between bounds on both sides of zero
SELECT b0, count(*) AS records
FROM (
  SELECT least(floor(greatest(least(v0, 50.0D), -50.0D) / 5.0D) + 10, CAST(19 AS BIGINT)) AS b0
  FROM (SELECT CAST(`age` AS DOUBLE) AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D
) AS k
GROUP BY b0;

-- declared groups
SELECT b0, b1, count(*) AS records
FROM (
  SELECT v0 AS b0, floor(v1 / 5.0D) AS b1
  FROM (SELECT CASE WHEN is_valid_utf8(`ward`) THEN `ward` END AS v0, CAST(`age` AS DOUBLE) AS v1 FROM source) AS t
  WHERE octet_length(v0) <= 65536 AND v1 BETWEEN -1.125899906842624e+16D AND 1.125899906842624e+16D AND v0 IN ('A', CAST(X'6F2763' AS STRING))
) AS k
GROUP BY b0, b1;

-- integers on an open domain
SELECT b0, count(*) AS records
FROM (
  SELECT CAST(CASE WHEN v0 >= 0 THEN ((CAST(v0 AS BIGINT)) DIV 7) ELSE -1 - ((-1 - CAST(v0 AS BIGINT)) DIV 7) END AS BIGINT) AS b0
  FROM (SELECT CAST(`visits` AS BIGINT) AS v0 FROM source) AS t
  WHERE v0 IS NOT NULL
) AS k
GROUP BY b0;

-- numbers filtered by another
SELECT b0, count(*) AS records
FROM (
  SELECT floor(v0 / 5.0D) AS b0
  FROM (SELECT CAST(`age` AS DOUBLE) AS v0 FROM source WHERE (((CAST(`cost` AS DOUBLE)) < 50.0D AND (CAST(`cost` AS DOUBLE)) BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D) AND ((CASE WHEN is_valid_utf8(`ward`) THEN `ward` END) <> 'B' AND octet_length(CASE WHEN is_valid_utf8(`ward`) THEN `ward` END) <= 65536))) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16D AND 1.125899906842624e+16D
) AS k
GROUP BY b0;

-- edges, filtered by another number
SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN v0 < 65.0D THEN 0 ELSE 1 END AS b0
  FROM (SELECT CAST(`age` AS DOUBLE) AS v0 FROM source WHERE ((CAST(`cost` AS DOUBLE)) < 50.0D AND (CAST(`cost` AS DOUBLE)) BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D)) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D
) AS k
GROUP BY b0;

-- edges
SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN v0 < 65.0D THEN CASE WHEN v0 < 18.0D THEN 0 ELSE 1 END ELSE 2 END AS b0
  FROM (SELECT CAST(`age` AS DOUBLE) AS v0 FROM source) AS t
  WHERE v0 BETWEEN -1.7976931348623157e+308D AND 1.7976931348623157e+308D
) AS k
GROUP BY b0;

-- months
SELECT b0, count(*) AS records
FROM (
  SELECT CAST(((12 * (400 * (((z0) DIV 146097)) + yoe0) + ((5 * doy0 + 2) DIV 153) + 2) DIV 1) AS BIGINT) AS b0
  FROM (SELECT *, doe0 - (365 * yoe0 + ((yoe0) DIV 4) - ((yoe0) DIV 100)) AS doy0 FROM (SELECT *, ((doe0 - ((doe0) DIV 1460) + ((doe0) DIV 36524) - ((doe0) DIV 146096)) DIV 365) AS yoe0 FROM (SELECT *, z0 - 146097 * (((z0) DIV 146097)) AS doe0 FROM (SELECT *, ((CAST(v0 AS BIGINT) + 719468) DIV 1) AS z0 FROM (SELECT CASE WHEN `day` BETWEEN DATE'0001-01-01' AND DATE'9999-12-31' THEN CAST(unix_date(`day`) AS BIGINT) END AS v0 FROM source) AS t
  WHERE v0 IS NOT NULL) AS t) AS t) AS t) AS t
) AS k
GROUP BY b0;

-- units, at most two buckets each
SELECT b0, count(*) AS records
FROM (
  SELECT b0 FROM (SELECT b0, row_number() OVER (PARTITION BY u ORDER BY md5('salt:' || CAST(u AS STRING) || ':' || CAST(CAST(b0 AS BIGINT) AS STRING)) ASC, b0 ASC) AS place FROM (SELECT DISTINCT u, b0 FROM (SELECT CAST(floor(v0 / 5.0D) AS BIGINT) AS b0, u
  FROM (SELECT CAST(`age` AS DOUBLE) AS v0, CAST(`who` AS BIGINT) AS u FROM source) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16D AND 1.125899906842624e+16D AND u IS NOT NULL) AS e) AS d) AS r WHERE place <= 2
) AS k
GROUP BY b0;

SELECT b0, count(*) AS records
FROM (
  SELECT CASE WHEN n > 2 THEN 1 ELSE 0 END AS b0 FROM (SELECT u, count(*) AS n FROM (SELECT DISTINCT u, b0 FROM (SELECT CAST(floor(v0 / 5.0D) AS BIGINT) AS b0, u
  FROM (SELECT CAST(`age` AS DOUBLE) AS v0, CAST(`who` AS BIGINT) AS u FROM source) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16D AND 1.125899906842624e+16D AND u IS NOT NULL) AS e) AS d GROUP BY u) AS o
) AS k
GROUP BY b0;

-- the mean of each unit
SELECT b0, count(*) AS records
FROM (
  SELECT CAST(floor(v0 / 5.0D) AS BIGINT) AS b0, u
  FROM (SELECT u, greatest(least(aggregate(array_sort(collect_list(CASE WHEN v0 BETWEEN -1e-280D AND 1e-280D THEN 0.0D ELSE v0 / n END)), 0.0D, (total, next) -> total + next), max(v0)), min(v0)) AS v0 FROM (SELECT u, v0, count(*) OVER (PARTITION BY u) AS n FROM (SELECT CAST(`age` AS DOUBLE) AS v0, CAST(`who` AS BIGINT) AS u FROM source) AS m WHERE u IS NOT NULL AND v0 BETWEEN -1e+307D AND 1e+307D) AS s GROUP BY u) AS t
  WHERE v0 BETWEEN -1.125899906842624e+16D AND 1.125899906842624e+16D
) AS k
GROUP BY b0;
