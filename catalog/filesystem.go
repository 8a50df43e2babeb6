package catalog

import "fmt"

// checkFilesystem refuses a store on a network filesystem: the locks and the
// shared memory of WAL mode, and flock, only hold on one host.
func checkFilesystem(o *Options) error {
	name, network, err := o.filesystem(o.Dir)
	if err != nil {
		return &Error{Code: CodeIO, Op: "open", Err: fmt.Errorf("filesystem of %s: %w", o.Dir, err)}
	}
	if network {
		return refuse(CodeNetwork, "open", "%s is on a network filesystem (%s); a store needs a local one", o.Dir, name)
	}
	return nil
}
