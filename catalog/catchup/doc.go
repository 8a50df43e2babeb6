// Package catchup has the rules by which indexes catch up with compaction, as
// functions of values: no I/O, no SQL, no catalog.
//
// A position is the newest compacted generation of a shard whose rows an index
// is known to hold. No position means that nothing is known, never that
// everything is. Positions decide when the file of a compacted generation is no
// longer needed, so a function here errs towards the lower position: the price
// is a file that is kept for longer.
//
// No argument is changed, and no result shares a map with one.
//
// # Caveats
//
//   - Honest positions are needed to retire a generation, and are not enough: one
//     that is withdrawn later brings no file back. Positions and what is retired
//     by them belong into one transaction, and a reader needs a way for fragments
//     that an index does not span.
//   - A table without a fragment proves nothing for its indexes, so one without a
//     row needs an empty fragment.
//   - A commit that writes fragments anew withdraws the positions of every index
//     of them, and the commit after the index spans them earns them again.
package catchup
