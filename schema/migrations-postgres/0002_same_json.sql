-- Whether two JSON texts have the same value, as `sameJson` of `src/core/json.ts` says. The type jsonb compares values, but it rounds no
-- number as JavaScript does, and takes neither U+0000 nor half a surrogate pair: both are put in another form first.
CREATE FUNCTION comparable_number(given text) RETURNS text LANGUAGE sql IMMUTABLE AS $$
  SELECT CASE
    WHEN length(given) < 16 OR (given LIKE '%.%' AND given ~ '^-?([0-9]\.[0-9]{1,17}|[0-9.]{1,18})$')
      THEN given::double precision::text
    WHEN abs(given::numeric) < 1e308 AND given::numeric = given::double precision::text::numeric
      THEN given::double precision::text
    ELSE '"' || chr(65535) || given || '"'
  END
$$;
--> statement-breakpoint
CREATE FUNCTION comparable_json(given text) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
  SELECT string_agg(
    CASE
      WHEN token[1] IS NOT NULL
        THEN regexp_replace(token[1], '(?<!\\)((?:\\\\)*)\\u(0000|d[89a-f][0-9a-f]{2})', '\1\\uffff\\\\u\2', 'g')
      WHEN token[2] IS NOT NULL THEN comparable_number(token[2])
      ELSE token[3]
    END, '' ORDER BY at)::jsonb
  FROM regexp_matches(given, '("(?:[^"\\]|\\.)*")|(-?[0-9][0-9.eE+-]*)|([^"0-9-]+)', 'g') WITH ORDINALITY AS found (token, at)
$$;
--> statement-breakpoint
CREATE FUNCTION same_json(one text, other text) RETURNS boolean LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
  RETURN one = other OR comparable_json(one) = comparable_json(other);
EXCEPTION WHEN OTHERS THEN
  RETURN false;
END
$$;
