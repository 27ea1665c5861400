module github.com/itemize/itemize/codegen

go 1.26.0

require (
	github.com/itemize/itemize/internal/generator v0.1.0
	golang.org/x/tools v0.52.0
)

require (
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.74.0 // indirect
	github.com/aws/smithy-go v1.28.9 // indirect
	github.com/itemize/itemize v0.1.0 // indirect
	golang.org/x/mod v0.42.0 // indirect
	golang.org/x/sync v0.24.0 // indirect
)
