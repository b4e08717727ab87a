-- numbers between bounds
-- Translated from PostgreSQL and never run: to be read, not relied on.
SELECT
  b0,
  COUNT(*) AS records
FROM (
  SELECT
    LEAST(
      FLOOR(
        CASE
          WHEN (
            GREATEST(LEAST(v0, CAST('120.0' AS DOUBLE)), CAST('0.0' AS DOUBLE)) - CAST('0.0' AS DOUBLE)
          ) BETWEEN -CAST('1e-323' AS DOUBLE) AND CAST('1e-323' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          ELSE (
            GREATEST(LEAST(v0, CAST('120.0' AS DOUBLE)), CAST('0.0' AS DOUBLE)) - CAST('0.0' AS DOUBLE)
          ) / CAST('5.0' AS DOUBLE)
        END
      ),
      CAST(23 AS BIGINT)
    ) AS b0
  FROM (
    SELECT
      CAST(`age` AS DOUBLE) AS v0
    FROM source
  ) AS t
  WHERE
    v0 BETWEEN CAST('-1.7976931348623157e+308' AS DOUBLE) AND CAST('1.7976931348623157e+308' AS DOUBLE)
) AS k
GROUP BY
  b0;

-- numbers between bounds on both sides of zero
-- Translated from PostgreSQL and never run: to be read, not relied on.
SELECT
  b0,
  COUNT(*) AS records
FROM (
  SELECT
    LEAST(
      FLOOR(
        CASE
          WHEN GREATEST(LEAST(v0, CAST('50.0' AS DOUBLE)), CAST('-50.0' AS DOUBLE)) BETWEEN -CAST('1e-323' AS DOUBLE) AND CAST('1e-323' AS DOUBLE)
          THEN CAST('0.0' AS DOUBLE)
          ELSE GREATEST(LEAST(v0, CAST('50.0' AS DOUBLE)), CAST('-50.0' AS DOUBLE)) / CAST('5.0' AS DOUBLE)
        END
      ) + 10,
      CAST(19 AS BIGINT)
    ) AS b0
  FROM (
    SELECT
      CAST(`age` AS DOUBLE) AS v0
    FROM source
  ) AS t
  WHERE
    v0 BETWEEN CAST('-1.7976931348623157e+308' AS DOUBLE) AND CAST('1.7976931348623157e+308' AS DOUBLE)
) AS k
GROUP BY
  b0;

-- declared groups
-- Translated from PostgreSQL and never run: to be read, not relied on.
SELECT
  b0,
  b1,
  COUNT(*) AS records
FROM (
  SELECT
    v0 COLLATE `C` AS b0,
    FLOOR(
      CASE
        WHEN v1 BETWEEN -CAST('1e-323' AS DOUBLE) AND CAST('1e-323' AS DOUBLE)
        THEN CAST('0.0' AS DOUBLE)
        ELSE v1 / CAST('5.0' AS DOUBLE)
      END
    ) AS b1
  FROM (
    SELECT
      CAST(`ward` AS STRING) AS v0,
      CAST(`age` AS DOUBLE) AS v1
    FROM source
  ) AS t
  WHERE
    OCTET_LENGTH(v0) <= 65536
    AND v1 BETWEEN CAST('-1.125899906842624e+16' AS DOUBLE) AND CAST('1.125899906842624e+16' AS DOUBLE)
    AND v0 COLLATE `C` IN ('A', 'o\'c')
) AS k
GROUP BY
  b0,
  b1;

-- integers on an open domain
-- Translated from PostgreSQL and never run: to be read, not relied on.
SELECT
  b0,
  COUNT(*) AS records
FROM (
  SELECT
    CAST(CASE
      WHEN v0 >= 0
      THEN (
        CAST(v0 AS BIGINT)
      ) / 7
      ELSE -1 - (
        -1 - CAST(v0 AS BIGINT)
      ) / 7
    END AS BIGINT) AS b0
  FROM (
    SELECT
      CAST(`visits` AS BIGINT) AS v0
    FROM source
  ) AS t
  WHERE
    v0 IS NOT NULL
) AS k
GROUP BY
  b0;

-- edges
-- Translated from PostgreSQL and never run: to be read, not relied on.
SELECT
  b0,
  COUNT(*) AS records
FROM (
  SELECT
    CASE
      WHEN v0 < CAST('65.0' AS DOUBLE)
      THEN CASE WHEN v0 < CAST('18.0' AS DOUBLE) THEN 0 ELSE 1 END
      ELSE 2
    END AS b0
  FROM (
    SELECT
      CAST(`age` AS DOUBLE) AS v0
    FROM source
  ) AS t
  WHERE
    v0 BETWEEN CAST('-1.7976931348623157e+308' AS DOUBLE) AND CAST('1.7976931348623157e+308' AS DOUBLE)
) AS k
GROUP BY
  b0;

-- months
-- Translated from PostgreSQL and never run: to be read, not relied on.
SELECT
  b0,
  COUNT(*) AS records
FROM (
  SELECT
    CAST((
      12 * (
        400 * (
          (
            z0
          ) / 146097
        ) + yoe0
      ) + (
        5 * doy0 + 2
      ) / 153 + 2
    ) / 1 AS BIGINT) AS b0
  FROM (
    SELECT
      *,
      doe0 - (
        365 * yoe0 + (
          yoe0
        ) / 4 - (
          yoe0
        ) / 100
      ) AS doy0
    FROM (
      SELECT
        *,
        (
          doe0 - (
            doe0
          ) / 1460 + (
            doe0
          ) / 36524 - (
            doe0
          ) / 146096
        ) / 365 AS yoe0
      FROM (
        SELECT
          *,
          z0 - 146097 * (
            (
              z0
            ) / 146097
          ) AS doe0
        FROM (
          SELECT
            *,
            (
              CAST(v0 AS BIGINT) + 719468
            ) / 1 AS z0
          FROM (
            SELECT
              CASE
                WHEN CAST(`day` AS DATE) BETWEEN CAST('0001-01-01' AS DATE) AND CAST('9999-12-31' AS DATE)
                THEN CAST(CAST(`day` AS DATE) - CAST('1970-01-01' AS DATE) AS BIGINT)
              END AS v0
            FROM source
          ) AS t
          WHERE
            v0 IS NOT NULL
          OFFSET 0
        ) AS t
        OFFSET 0
      ) AS t
      OFFSET 0
    ) AS t
    OFFSET 0
  ) AS t
) AS k
GROUP BY
  b0;

-- units, at most two buckets each
-- Translated from PostgreSQL and never run: to be read, not relied on.
SELECT
  b0,
  COUNT(*) AS records
FROM (
  SELECT
    b0
  FROM (
    SELECT
      b0,
      ROW_NUMBER() OVER (
        PARTITION BY u
        ORDER BY MD5('salt:' || CAST(u AS STRING) || ':' || CAST(CAST(b0 AS BIGINT) AS STRING)) ASC NULLS LAST, b0 ASC NULLS LAST
      ) AS place
    FROM (
      SELECT DISTINCT
        u,
        b0
      FROM (
        SELECT
          CAST(FLOOR(
            CASE
              WHEN v0 BETWEEN -CAST('1e-323' AS DOUBLE) AND CAST('1e-323' AS DOUBLE)
              THEN CAST('0.0' AS DOUBLE)
              ELSE v0 / CAST('5.0' AS DOUBLE)
            END
          ) AS BIGINT) AS b0,
          u
        FROM (
          SELECT
            CAST(`age` AS DOUBLE) AS v0,
            CAST(`who` AS BIGINT) AS u
          FROM source
        ) AS t
        WHERE
          v0 BETWEEN CAST('-1.125899906842624e+16' AS DOUBLE) AND CAST('1.125899906842624e+16' AS DOUBLE)
          AND u IS NOT NULL
      ) AS e
    ) AS d
  ) AS r
  WHERE
    place <= 2
) AS k
GROUP BY
  b0;

-- the mean of each unit
-- Translated from PostgreSQL and never run: to be read, not relied on.
SELECT
  b0,
  COUNT(*) AS records
FROM (
  SELECT
    CAST(FLOOR(
      CASE
        WHEN v0 BETWEEN -CAST('1e-323' AS DOUBLE) AND CAST('1e-323' AS DOUBLE)
        THEN CAST('0.0' AS DOUBLE)
        ELSE v0 / CAST('5.0' AS DOUBLE)
      END
    ) AS BIGINT) AS b0,
    u
  FROM (
    SELECT
      u,
      GREATEST(
        LEAST(
          SUM(
            CASE
              WHEN v0 BETWEEN -CAST('1e-280' AS DOUBLE) AND CAST('1e-280' AS DOUBLE)
              THEN CAST('0.0' AS DOUBLE)
              ELSE v0 / n
            END ORDER BY v0 ASC NULLS LAST
          ),
          MAX(v0)
        ),
        MIN(v0)
      ) AS v0
    FROM (
      SELECT
        u,
        v0,
        COUNT(*) OVER (PARTITION BY u) AS n
      FROM (
        SELECT
          CAST(`age` AS DOUBLE) AS v0,
          CAST(`who` AS BIGINT) AS u
        FROM source
      ) AS m
      WHERE
        u IS NOT NULL
        AND v0 BETWEEN -CAST('1e+307' AS DOUBLE) AND CAST('1e+307' AS DOUBLE)
    ) AS s
    GROUP BY
      u
  ) AS t
  WHERE
    v0 BETWEEN CAST('-1.125899906842624e+16' AS DOUBLE) AND CAST('1.125899906842624e+16' AS DOUBLE)
) AS k
GROUP BY
  b0;
