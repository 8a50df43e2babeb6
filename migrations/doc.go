// Package migrations holds the numbered SQL files that build the catalog of a
// store, and runs them.
//
// The files are embedded and in goose format. Each runs in one transaction
// together with its row in the version table, and sets user_version to its own
// number, so a crash between two leaves a valid older catalog and the next open
// goes on from there. [Up] applies what is pending, one version at a time.
//
// # Caveats
//
// A released file is never edited: [Schema] derives the schema that every open
// compares with the stored one, so an edit would make existing stores
// unopenable. A change is a new file.
//
// A later file that alters a table should prefer ADD COLUMN. Other ALTERs make
// SQLite rewrite the stored text, and the rewriting is not fixed between
// versions of SQLite, while the comparison is.
//
// There are no down migrations: an older program refuses a newer catalog, and
// the copy that an open makes before it migrates is the way back.
package migrations
