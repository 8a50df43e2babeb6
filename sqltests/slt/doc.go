// Package slt parses sqllogictest scripts and runs them against a database/sql connection.
//
// The format is the one of https://www.sqlite.org/sqllogictest/doc/trunk/about.wiki. Two spellings
// of newer runners are understood as well: expected results written a row a line (columns apart by
// blanks) and text after "statement error".
//
// # Caveats
//
// A script is run on one connection; a record that needs several is not part of
// the format. Values are rendered as the original runner renders them, which
// hides the difference between 1 and 1.0 in a column of type I.
package slt
