// Package atomicfile replaces files as a whole: a reader finds what a file held before or all of
// what it holds now, also after a crash or on a full disk.
//
// [Write] is the usual entrance. The new content goes into a file beside the one that it replaces. That
// file is flushed to the device and renamed over the old one, and then the folder is flushed where the
// system can. A process that dies before the renaming leaves the new file behind: see [Unfinished]. Of
// several files each is replaced as a whole, but not all at once.
package atomicfile
