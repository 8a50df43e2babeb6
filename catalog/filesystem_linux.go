package catalog

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// networkFilesystems by the magic number of statfs. FUSE is not among them: it
// does not tell what is behind it.
var networkFilesystems = map[uint32]string{
	0x00006969: "nfs",
	0x0000517b: "smb",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x0000564c: "ncp",
	0x73757245: "coda",
	0x5346414f: "afs",
	0x6b414653: "afs",
	0x00c36400: "ceph",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0x19830326: "beegfs",
}

func filesystemOf(dir string) (name string, network bool, err error) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return "", false, err
	}
	magic := uint32(st.Type)
	if name, ok := networkFilesystems[magic]; ok {
		return name, true, nil
	}
	return fmt.Sprintf("%#x", magic), false, nil
}
