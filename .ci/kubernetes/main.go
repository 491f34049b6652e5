// Command kubernetes reads files for Kubernetes with its own types, which refuse fields that do not exist and values of
// other types. It has a module of its own, as nothing else needs these types.
package main

import (
	"bytes"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func main() {
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{appsv1.AddToScheme, batchv1.AddToScheme, corev1.AddToScheme} {
		utilruntime.Must(add(scheme))
	}
	decoder := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer()
	status := 0
	for _, path := range os.Args[1:] {
		text, err := os.ReadFile(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		for i, document := range bytes.Split(text, []byte("\n---\n")) {
			_, kind, err := decoder.Decode(document, nil, nil)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: document %d: %v\n", path, i+1, err)
				status = 1
				continue
			}
			fmt.Printf("%s: %s is right\n", path, kind.Kind)
		}
	}
	os.Exit(status)
}
