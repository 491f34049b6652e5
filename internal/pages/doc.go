// Package pages tells the kernel how to place memory of the Go heap that is about to be filled:
// in large pages ([Large]), or elsewhere than it lies ([Renew]).
//
// A page costs a fault when it is first touched. On a virtual machine one of 4 KiB costs ten
// microseconds, so to fill a tile of 2 MiB costs more than to multiply it. In one page of
// 2 MiB the same tile costs a twentieth of that.
package pages
