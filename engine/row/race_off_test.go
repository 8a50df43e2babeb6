//go:build !race

package row

const slower = 1
