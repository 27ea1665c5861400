// Package s3store stores large values as objects in S3, and gives migrations the exports and import
// files that lie there.
//
// A field with s3=BUCKET in its tag lies in the bucket from a size on (package blob), and the mapper
// needs a client:
//
//	m, err := mapper.New[Product](db, s3store.Objects(s3.NewFromConfig(cfg)))
//
// It is a module of its own, so that programs without such fields do not depend on the SDK's client of
// S3.
package s3store
