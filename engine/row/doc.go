// Package row holds the values of SQL as SQLite knows them: storage classes,
// affinity, order under a collation, and the three encodings the engine gives
// them. A Record is a row as it is logged and kept in memory, a key
// (AppendKey) is a tuple whose bytes sort as the values do, and a Sum is a
// row's share of the fingerprint of a world.
//
// Every rule here is SQLite's, to the bit: which texts are numbers, how a REAL
// reads as TEXT, how an INTEGER compares with a REAL. The tests hold the
// package against SQLite itself.
//
// # Caveats
//
// Values borrow. Value.Bytes, Record.Column and Decoder.Column return strings
// that share memory with the record they come from. That is safe for as long
// as anybody likes, since strings are immutable, but one short text keeps the
// whole record (or the whole block of a log it was cut from) in memory; Clone
// what outlives the row. A Value made over memory that is not Go's, such as
// the arguments of a SQLite callback, is valid only during that callback.
//
// Record.Column and Decoder panic on, or misread, bytes that are not a record.
// Bytes that come from a file go through Record.Validate first.
//
// Keys are for comparing, not for reading back: an INTEGER and an equal REAL
// have the same key, and so have texts that a collation calls equal.
//
// The default of STRICT tables for the type ANY is not AffinityOf's business:
// such a column has AffBlob.
package row
