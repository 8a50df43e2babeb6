package main

import "strings"

// sqlKeywords are SQLite's, without those that are only part of a window or a
// constraint clause nobody types by completion.
var sqlKeywords = strings.Fields(`ABORT ACTION ADD AFTER ALL ALTER ALWAYS ANALYZE AND AS ASC ATTACH AUTOINCREMENT
BEFORE BEGIN BETWEEN BY CASCADE CASE CAST CHECK COLLATE COLUMN COMMIT CONFLICT CONSTRAINT CREATE CROSS CURRENT
CURRENT_DATE CURRENT_TIME CURRENT_TIMESTAMP DATABASE DEFAULT DEFERRABLE DEFERRED DELETE DESC DETACH DISTINCT DO DROP
EACH ELSE END ESCAPE EXCEPT EXCLUDE EXCLUSIVE EXISTS EXPLAIN FAIL FILTER FIRST FOLLOWING FOR FOREIGN FROM FULL
GENERATED GLOB GROUP GROUPS HAVING IF IGNORE IMMEDIATE IN INDEX INDEXED INITIALLY INNER INSERT INSTEAD INTERSECT INTO
IS ISNULL JOIN KEY LAST LEFT LIKE LIMIT MATCH MATERIALIZED NATURAL NO NOT NOTHING NOTNULL NULL NULLS OF OFFSET ON OR
ORDER OTHERS OUTER OVER PARTITION PLAN PRAGMA PRECEDING PRIMARY QUERY RAISE RANGE RECURSIVE REFERENCES REGEXP REINDEX
RELEASE RENAME REPLACE RESTRICT RETURNING RIGHT ROLLBACK ROW ROWS SAVEPOINT SELECT SET TABLE TEMP TEMPORARY THEN TIES
TO TRANSACTION TRIGGER UNBOUNDED UNION UNIQUE UPDATE USING VACUUM VALUES VIEW VIRTUAL WHEN WHERE WINDOW WITH WITHOUT`)

// isKeyword knows the keywords in upper case.
var isKeyword = func() map[string]bool {
	m := make(map[string]bool, len(sqlKeywords))
	for _, k := range sqlKeywords {
		m[k] = true
	}
	return m
}()

// nameText writes a name as a person does: quoted only where it must be.
func nameText(name string) string {
	plain := name != "" && !isKeyword[strings.ToUpper(name)] && (name[0] < '0' || name[0] > '9')
	for i := 0; i < len(name); i++ {
		plain = plain && name[i] < 0x80 && name[i] != '$' && isWordByte(name[i])
	}
	if plain {
		return name
	}
	return quoteName(name)
}
