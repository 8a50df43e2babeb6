// Package tree holds the rows and the index entries of a table in memory: B+trees
// that are copied on write, whose leaves keep the bytes of their entries side by
// side and hold no pointers into them.
//
// A copy of a tree (IsoCopy) costs the same whatever its size: both share all
// nodes, and either one copies a node before it first changes it. So a tree that
// nobody writes to may be read by any number of goroutines, and what was read
// stays as it is. What is copied of a leaf is the order of its entries, not what is
// written of them: the copy appends its own behind that.
//
// An entry costs its bytes and 3 more, for their length and its place in the order,
// and a row the 8 of its id. Entries that arrive in ascending order fill leaves
// entirely, and so do those of Merge and of a Sorter.
//
// # Caveats
//
//   - One goroutine at a time writes to a tree or to any copy of it, and IsoCopy
//     counts as a write.
//   - An iterator must seek again after its tree was written to.
//   - A string that was read keeps the bytes of its whole leaf alive, some KiB.
package tree
