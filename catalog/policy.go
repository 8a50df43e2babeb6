package catalog

import "fmt"

// Policy is the canonical policy P of a catalog: how objects are encoded.
type Policy struct {
	Unit           string // extents are counted in byte or bit
	GroupSize      int64
	BlockSize      int64
	ValueLayout    string
	Interpretation int64
}

// DefaultPolicy is the policy of every store this program makes and opens.
func DefaultPolicy() Policy {
	return Policy{Unit: "byte", GroupSize: 1, BlockSize: 4096, ValueLayout: "row/1", Interpretation: 1}
}

// Bytes is the canonical encoding that open compares.
func (p Policy) Bytes() []byte { return []byte(p.String()) }

// String prints the policy the way it is stored.
func (p Policy) String() string {
	return fmt.Sprintf("unit=%s;group=%d;block=%d;layout=%s;interpretation=%d",
		p.Unit, p.GroupSize, p.BlockSize, p.ValueLayout, p.Interpretation)
}
