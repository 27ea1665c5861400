package main

import (
	"fmt"
	"os"

	batch "k8s.io/api/batch/v1"
	"sigs.k8s.io/yaml"
)

// manifests reads Kubernetes manifests as the API server does: every field has to be one of its kind's.
func manifests(names []string) error {
	for _, name := range names {
		if err := checkManifest(name); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// checkManifest reads a Job.
func checkManifest(name string) error {
	content, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var j batch.Job
	if err := yaml.UnmarshalStrict(content, &j); err != nil {
		return err
	}
	switch {
	case j.APIVersion != "batch/v1" || j.Kind != "Job":
		return fmt.Errorf("it is a %s of %s: write a Job of batch/v1", j.Kind, j.APIVersion)
	case j.Spec.CompletionMode == nil || *j.Spec.CompletionMode != batch.IndexedCompletion || j.Spec.Completions == nil:
		return fmt.Errorf("its pods have no indexes: add completionMode: Indexed")
	case len(j.Spec.Template.Spec.Containers) != 1:
		return fmt.Errorf("it has %d containers: keep one", len(j.Spec.Template.Spec.Containers))
	}
	return nil
}
