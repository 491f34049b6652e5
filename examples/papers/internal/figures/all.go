package figures

// papers as they are called in the list.
const (
	pycompss = "Amela et al. 2018"
	daphne   = "Eleliemy and Ciorba 2023"
	spliter  = "Barcelo et al. 2023"
	colony   = "Lordan et al. 2023"
)

// All returns all figures.
func All() []Figure {
	return []Figure{
		{"pycompss-15", pycompss, "Product, n = 32768, on one MareNostrum III node: threads", oversubscription},
		{"pycompss-16", pycompss, "Product, n = 65536, blocks of 4096, on MareNostrum III", distributed},
		{"pycompss-17", pycompss, "Product, n = 131072, on a Xeon and a Xeon Phi node of COBI", unlikeTrace},
		{"pycompss-18", pycompss, "Product, n = 131072, blocks of 4096, on COBI", unlike},
		{"pycompss-19", pycompss, "Cholesky, n = 65536, blocks of 4096, on MareNostrum III", cholesky},
		{"pycompss-20", pycompss, "Cholesky, n = 131072, on four Xeon and four Xeon Phi nodes", choleskyTrace},
		{"pycompss-21", pycompss, "The tasks of a Cholesky factorization of 16×16 blocks", choleskyGraph},
		{"pycompss-22", pycompss, "Cholesky, n = 131072, blocks of 4096, on COBI", choleskyUnlike},
		{"pycompss-23", pycompss, "Cholesky, 16×16 blocks of 4096, on CPUs and GPUs of Minotauro", gpus},
		{"pycompss-24", pycompss, "QR, n = 32768, blocks of 4096, on MareNostrum III", qr},
		{"pycompss-26", pycompss, "LU, n = 81920, blocks of 4096, on COBI's Xeons", lu},
		{"pycompss-29", pycompss, "LU, 32×32 blocks of 2048, on 196 cores of COBI", luSchedulers},
		{"daphne-7", daphne, "Connected components, one queue", central},
		{"daphne-8", daphne, "Connected components, several queues, 2×10 cores", queues("broadwell2x10")},
		{"daphne-9", daphne, "Connected components, several queues, 2×28 cores", queues("cascadelake2x28")},
		{"daphne-10", daphne, "Linear regression, one queue", regression},
		{"spliter-9", spliter, "Histogram, 48 blocks for each core of MareNostrum 4", histogramNodes(48, partitionsFaster)},
		{"spliter-10", spliter, "Histogram, a block for each core of MareNostrum 4", histogramNodes(1, partitionsClose)},
		{"spliter-11", spliter, "Histogram on 8 nodes of MareNostrum 4", histogramBlocks},
		{"colony-5", colony, "Grid search over cascade SVMs, on MareNostrum 4", gridSearch},
		{"colony-6", colony, "Random forests on 1 to 32 nodes of MareNostrum 4", forests},
	}
}
