package vfs

import (
	"io"
	"math"
	"os"
	"syscall"
)

// pages are a mapping. It is made here and not by x/exp/mmap because of what the
// kernel must be told of it: rows are read at random, and a page that is missing
// would else bring in its neighbours, which take the place of memory that is in
// use. (Under a limit of memory this cost all but 5% of the reads.)
type pages []byte

// readAhead is how much has to be read at once for the kernel to be told of all
// of it before: a scan then waits once and not page by page.
const readAhead = 8 << 10

func openMapping(f *os.File, path string) (mapping, error) {
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	size := info.Size()
	switch {
	case size == 0:
		return pages(nil), nil
	case size > math.MaxInt:
		return nil, pathError("map", path, syscall.EFBIG)
	}
	var p pages
	err = control(f, func(fd uintptr) (err error) {
		p, err = syscall.Mmap(int(fd), 0, int(size), syscall.PROT_READ, syscall.MAP_SHARED)
		return err
	})
	if err != nil {
		return nil, err
	}
	// Advice: without it reads are as right as with it.
	_ = syscall.Madvise(p, syscall.MADV_RANDOM)
	return p, nil
}

func (p pages) Len() int { return len(p) }

func (p pages) ReadAt(b []byte, off int64) (int, error) {
	if len(b) >= readAhead {
		p.advise(off, len(b))
	}
	n := copy(b, p[off:])
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}

func (p pages) advise(off int64, n int) {
	page := int64(os.Getpagesize())
	from, to := off/page*page, min(off+int64(n), int64(len(p)))
	if from < to {
		_ = syscall.Madvise(p[from:to], syscall.MADV_WILLNEED)
	}
}

func (p pages) Close() error {
	if len(p) == 0 {
		return nil
	}
	return syscall.Munmap(p)
}
