// Command 12-principal-components looks at small pictures through their principal components. It draws rings, squares
// and crosses of 16×16 pixels, of random size and place, with noise. A picture is an observation of 256 variables. Two
// components tell most of them apart: the program writes where they lie as a PNG file.
//
// It checks the variances against gonum's stat.PC, and approximates the pictures by a truncated singular value
// decomposition, whose error it compares with the bound.
//
//	go run ./examples/12-principal-components
package main

import (
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/tessera-la/tessera/la"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

const (
	pictures = 900
	side     = 16 // pixels
	rank     = 20
)

func main() {
	log.SetFlags(0)
	if err := run(); err != nil {
		log.Fatal(err)
	}
}

func run() error {
	a := draw()
	var pca la.PCA[float64]
	if err := pca.Factorize(a, nil); err != nil {
		return err
	}
	variances := pca.Variances(nil)
	if err := compare(a, variances); err != nil {
		return err
	}
	total := 0.0
	for _, v := range variances {
		total += v
	}
	fmt.Printf("%d pictures of %d pixels: the first components have %.0f, %.0f and %.0f %% of the variance\n",
		pictures, side*side, 100*variances[0]/total, 100*variances[1]/total, 100*variances[2]/total)

	path := filepath.Join(os.TempDir(), "components.png")
	if err := plot(path, scores(a, &pca)); err != nil {
		return err
	}
	fmt.Println("where they lie in the plane of two components:", path)
	return approximate(a)
}

// draw returns a picture in each row: a ring, a square or a cross in turn.
func draw() *mat.Dense {
	rng := rand.New(rand.NewPCG(1, 2))
	a := mat.NewDense(pictures, side*side, nil)
	for i := range pictures {
		x, y := side/2+rng.NormFloat64(), side/2+rng.NormFloat64()
		size := 4 + 2*rng.Float64()
		for p := range side * side {
			dx, dy := math.Abs(float64(p%side)-x), math.Abs(float64(p/side)-y)
			inside := [3]bool{math.Abs(math.Hypot(dx, dy)-size) < 1, max(dx, dy) < 0.9*size, min(dx, dy) < size/4}[i%3]
			if inside {
				a.Set(i, p, 1)
			}
			a.Set(i, p, a.At(i, p)+0.1*rng.NormFloat64())
		}
	}
	return a
}

// compare returns an error if gonum finds other variances.
func compare(a *mat.Dense, variances []float64) error {
	var pc stat.PC
	if !pc.PrincipalComponents(a, nil) {
		return fmt.Errorf("gonum has found no components")
	}
	for i, want := range pc.VarsTo(nil) {
		if math.Abs(variances[i]-want) > 1e-10*variances[0] {
			return fmt.Errorf("variance %d is %g, gonum's %g", i, variances[i], want)
		}
	}
	return nil
}

// scores returns the coordinates of the pictures in the plane of the first two components.
func scores(a *mat.Dense, pca *la.PCA[float64]) *mat.Dense {
	var components, plane mat.Dense
	pca.VectorsTo(&components)
	centered := mat.DenseCopyOf(a)
	for j, mean := range pca.Means(nil) {
		for i := range pictures {
			centered.Set(i, j, a.At(i, j)-mean)
		}
	}
	plane.Mul(centered, components.Slice(0, side*side, 0, 2))
	return &plane
}

// plot draws a dot for each row of points, in the colour of its shape, to a PNG file.
func plot(path string, points *mat.Dense) error {
	const size, margin = 480, 20
	dots := image.NewRGBA(image.Rect(0, 0, size, size))
	for i := range dots.Pix {
		dots.Pix[i] = 255
	}
	most := max(mat.Max(points), -mat.Min(points))
	colours := [3]color.RGBA{{0, 90, 181, 255}, {220, 50, 32, 255}, {0, 140, 90, 255}}
	at := func(x float64) int { return margin + int((x/most+1)/2*(size-2*margin)) }
	for i := range pictures {
		x, y := at(points.At(i, 0)), size-at(points.At(i, 1))
		for p := range 9 {
			dots.SetRGBA(x+p%3-1, y+p/3-1, colours[i%3])
		}
	}
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	if err := png.Encode(file, dots); err != nil {
		file.Close()
		return err
	}
	return file.Close()
}

// approximate compares the error of an approximation of low rank with its bound.
func approximate(a *mat.Dense) error {
	var svd la.TruncatedSVD[float64]
	if err := svd.Factorize(a, rank); err != nil {
		return err
	}
	var u, v, rest mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	for j, s := range svd.Values(nil) {
		for i := range pictures {
			u.Set(i, j, s*u.At(i, j))
		}
	}
	rest.Mul(&u, v.T())
	rest.Sub(a, &rest)
	values, err := la.SingularValues[float64](context.Background(), nil, &rest)
	if err != nil {
		return err
	}
	fmt.Printf("of rank %d: the error is %.2f in the 2-norm, of %.0f, and the bound %.0f\n", rank, values[0], svd.Values(nil)[0], svd.Bound())
	if values[0] > svd.Bound() {
		return fmt.Errorf("the error exceeds the bound")
	}
	return nil
}
