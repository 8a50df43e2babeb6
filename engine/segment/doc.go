// Package segment is the format of an .index object: the entries of one index for
// the rows of an exact set of fragments. It encodes and decodes bytes and reads an
// io.ReaderAt. It creates, syncs and truncates nothing, and knows no file names.
//
// A primary segment maps row ids to the place of the row (fragment and ordinal) and
// of its frame (offset and size). A secondary segment maps keys, which end in the row
// id and are opaque here, to the place of the row. A segment never changes. Rows that
// were deleted since are left out by who reads it: see NewMerge.
//
// # Layout
//
// A file is a sequence of frames without gaps, little endian:
//
//	u32   length of kind and payload
//	u32   CRC-32C over salt, file offset of the frame (u64), kind, payload
//	u8    kind: 1 header, 2 entries, 3 directory, 4 footer
//	...   payload
//
// namely one header, blocks of entries, one directory, one footer. Salt and offset are
// in the CRC so that no frame passes at another place or in another file. The length is
// not and need not be: another length is another range of bytes, and the directory
// knows all lengths. "uvarint" is the encoding of encoding/binary in its shortest form,
// "varint" the same after zig-zag.
//
// Header:
//
//	u32 "TMIX"  u32 format  8 bytes salt  16 bytes store  u64 object
//	u8 kind of segment (1 primary, 2 secondary)  u64 table  u64 index
//	uvarint number of fragments (1 at least)
//	uvarint id of the first, then the differences to the next ones (1 at least)
//
// Magic, format and salt are where they are in all formats.
//
// A block of entries has BlockSize bytes of payload at most, and BlockKeys bytes of
// keys, unless it has one entry only. It is decoded from its start. A place is coded
// relative to that of the entry before; before the first of a block that is fragment 0,
// ordinal -1, and a frame of size 0 that ends at offset 0. Fragments are numbered by
// their place in the header.
//
// Block of a primary segment: varint row id of the first entry, and for each entry
//
//	u8 tag   bits 4-7: difference of the row id to that of the entry before, 0 for the
//	         first; 15: uvarint (difference - 15) follows
//	bit 0    same fragment as the entry before, else
//	         uvarint fragment  uvarint ordinal  uvarint offset/8
//	bit 1    (with bit 0) ordinal of the entry before + 1, else varint difference
//	bit 2    (with bit 0) the frame begins where that of the entry before ends, else
//	         varint (offset - that end)/8
//	bit 3    size of the entry before, else uvarint size/8
//
// in the order of the bits, the row id first. Block of a secondary segment: for each entry
//
//	u8 tag   bits 2-7: number of bytes shared with the key before, 0 for the first;
//	         63: uvarint (number - 63) follows
//	bit 0    NULL flag, opaque
//	uvarint number of further bytes of the key, these bytes
//	bit 1    same fragment as the entry before: varint difference of the ordinals, else
//	         uvarint fragment  uvarint ordinal
//
// Directory: uvarint number of blocks, and for each
//
//	uvarint length of its frame  uvarint number of its entries
//	primary: the first: varint row id of its first entry; others: uvarint difference to
//	         that of the block before (1 at least)
//	secondary: the block's separator: uvarint number of bytes shared with that of the
//	         block before, uvarint number of further bytes, these bytes
//
// A separator is empty for the first block, else the shortest beginning of the first key
// that is greater than the last key of the block before. The first block lies behind the
// header, the directory behind the last one.
//
// Footer, the last 57 bytes:
//
//	u64 number of entries  u64 offset of the directory
//	32 bytes SHA-256 of all bytes before the footer's frame
//
// All coding is the shortest and in one way only, and the decoders refuse what the
// Writer would not have written, also when the CRC is right.
//
// # Caveats
//
// Open reads header, footer and directory. Damage of a block is found when it is read, and
// the digest is compared by Verify only.
//
// The keys of a block are cut from one string: holding one key holds those of its block,
// about BlockKeys bytes at most. Clone what should live alone.
//
// A Reader may be used by several goroutines, an iterator and a Merge by one.
package segment
