// Package wal is the format of a generation: how the rows, schema changes and
// commits of a shard lie in a .kv object as frames. It encodes and decodes
// bytes and scans an io.ReaderAt. It creates, grows, syncs and truncates
// nothing, and knows no file names.
//
// # Layout
//
// A file is a sequence of frames, each at a multiple of 8, little endian:
//
//	u32   length of kind and payload; 0 is the preallocated tail
//	u32   CRC-32C over salt, file offset of the frame (u64), kind, payload
//	u8    kind
//	...   payload
//	      zeros up to a multiple of 8
//
// The first frame is the Header, which brings the salt. Salt and offset are in
// the CRC so that bytes of a user's row, a frame of another file and a frame
// that lay elsewhere never pass for a frame of this file. The length is not
// in the CRC and need not be: another length is another range of bytes.
//
// In payloads, "uvarint" is the encoding of encoding/binary in its shortest
// form, "varint" the same after zig-zag, and fixed-width numbers are little
// endian. Each payload type documents its own.
//
// # Caveats
//
// A Frame's payload, and the record decoded from it, is cut from the block it
// was read with (BlockSize): holding one row of a block keeps the block. Clone
// what should live alone.
//
// Scanner stops at the first frame that is not intact and says why. Whether
// that is the end of the log or damage is decided by what lies behind it, which
// FindCommits looks for.
//
// The decoders are strict: they refuse what the Builder would not have written,
// also when the CRC is right.
//
// MaxPayload bounds one row, not one transaction.
package wal
