package wal

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"testing"
)

var update = flag.Bool("update", false, "write the golden file")

// The golden file holds every kind of frame as version 1 of the format wrote
// them. Every later version opens it. It is written anew only together with a
// new number in its name.
func TestGolden(t *testing.T) {
	path := filepath.Join("testdata", "every-kind-1.kv")
	es := everyKind()
	file := build(t, testSalt, 0, es)
	if *update {
		if err := os.WriteFile(path, file, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	golden, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(file, golden) {
		t.Error("the builder writes other bytes than the golden file holds")
	}
	h, next, err := ReadHeader(bytes.NewReader(golden), int64(len(golden)))
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(h, es[0]) {
		t.Errorf("header: %+v", h)
	}
	fs, stop := scan(golden, next, h.Salt)
	if stop.Reason != End {
		t.Fatalf("%+v", stop)
	}
	if len(fs) != len(es)-1 {
		t.Fatalf("%d frames of %d", len(fs), len(es)-1)
	}
	kinds := map[Kind]bool{KindHeader: true}
	for i, f := range fs {
		kinds[f.Kind] = true
		e, err := decode(f, h.Salt)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(e, es[i+1]) {
			t.Errorf("frame %d:\nhave %+v\nwant %+v", i+1, e, es[i+1])
		}
	}
	for k := KindHeader; k.known(); k++ {
		if !kinds[k] {
			t.Errorf("the golden file has no %v", k)
		}
	}
}
