// Package registry holds the models of the example: a package of a package registry, as an item
// collection and as one large item.
package registry

import "time"

//go:generate go run github.com/itemize/itemize/cmd/itemize gen

// Package is one item collection: attributes that change together are in one item. Each release is an
// item, with its time in the sort key; each tag is an item, with its name in the sort key.
type Package struct {
	_           struct{} `ddb:"table=packages"`
	Name        string   `ddb:"pk=PACKAGE#{Name}"`
	Description string   `ddb:"sk=HEAD"`
	License     string   `ddb:"sk=HEAD"`
	Keywords    []string `ddb:"sk=HEAD" dynamodbav:",omitempty"`

	Tags     map[string]string `ddb:"sk=TAG#{key}"`
	Releases []Release         `ddb:"sk=RELEASE#{At}#{Version}"` // two releases can have the same time

	Dependencies         map[string]string `ddb:"sk=DEPENDENCIES" dynamodbav:"run,omitempty"`
	OptionalDependencies map[string]string `ddb:"sk=DEPENDENCIES" dynamodbav:"optional,omitempty"`
	PeerDependencies     map[string]string `ddb:"sk=DEPENDENCIES" dynamodbav:"peer,omitempty"`
	DevDependencies      map[string]string `ddb:"sk=DEPENDENCIES#DEV,name=DevDependencies" dynamodbav:"dev,omitempty"`
	Engines              map[string]string `ddb:"sk=DEPENDENCIES" dynamodbav:"engines,omitempty"`

	Scripts map[string]string `ddb:"sk=SCRIPTS"`
	Files   []string          `ddb:"sk=FILES" dynamodbav:",omitempty"`
	Exports any               `ddb:"sk=FILES" dynamodbav:",omitempty"`
}

// Release is a version with the time of its publication.
type Release struct {
	At      time.Time
	Version string
	Listed  bool // whether it can be installed
}

// Document is the same package as one item, with the fields of the registry's JSON.
type Document struct {
	_                    struct{}             `ddb:"table=documents,hash=name,range=-"`
	Name                 string               `ddb:"pk={Name}" json:"name"`
	Description          string               `json:"description"`
	License              string               `json:"license"`
	Keywords             []string             `json:"keywords" dynamodbav:",omitempty"`
	Tags                 map[string]string    `json:"dist-tags"`
	Time                 map[string]time.Time `json:"time"`
	Versions             []string             `json:"versions"`
	Engines              map[string]string    `json:"engines" dynamodbav:",omitempty"`
	Dependencies         map[string]string    `json:"dependencies" dynamodbav:",omitempty"`
	OptionalDependencies map[string]string    `json:"optionalDependencies" dynamodbav:",omitempty"`
	PeerDependencies     map[string]string    `json:"peerDependencies" dynamodbav:",omitempty"`
	DevDependencies      map[string]string    `json:"devDependencies" dynamodbav:",omitempty"`
	Scripts              map[string]string    `json:"scripts" dynamodbav:",omitempty"`
	Files                []string             `json:"files" dynamodbav:",omitempty"`
	Exports              any                  `json:"exports" dynamodbav:",omitempty"`
}

// Package returns the document as an item collection.
func (d *Document) Package() Package {
	p := Package{
		Name: d.Name, Description: d.Description, License: d.License, Keywords: d.Keywords, Tags: d.Tags,
		Dependencies: d.Dependencies, OptionalDependencies: d.OptionalDependencies,
		PeerDependencies: d.PeerDependencies,
		DevDependencies:  d.DevDependencies, Engines: d.Engines, Scripts: d.Scripts, Files: d.Files, Exports: d.Exports,
	}
	listed := map[string]bool{}
	for _, v := range d.Versions {
		listed[v] = true
	}
	for v, at := range d.Time {
		p.Releases = append(p.Releases, Release{At: at, Version: v, Listed: listed[v]})
	}
	return p
}
