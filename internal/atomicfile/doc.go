// Package atomicfile replaces files as a whole: a reader finds what a file held before or all of
// what it holds now, also after a crash or on a full disk.
//
// The new content goes into a file beside the one that it replaces. It is flushed to the device, gets
// the other's name, and then the folder is flushed. A process that dies in between leaves that file:
// see [Unfinished].
package atomicfile
