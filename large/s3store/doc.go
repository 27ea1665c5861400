// Package s3store stores large values as objects in S3, and reads exports and writes import files of
// migrations.
//
// A field with s3=BUCKET in its tag is stored in a bucket from a certain size (package large). The
// mapper needs a client:
//
//	m, err := mapper.New[Product](db, s3store.Objects(s3.NewFromConfig(cfg)))
//
// It is a separate module, so programs without such fields do not depend on the SDK's client of S3.
package s3store
