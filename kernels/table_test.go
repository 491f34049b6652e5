package kernels_test

import (
	"testing"

	"github.com/tessera-la/tessera/kernels"
	"github.com/tessera-la/tessera/kernels/kerneltest"
)

func TestConformance(t *testing.T) {
	kerneltest.Table(t, kernels.NewTable())
}
