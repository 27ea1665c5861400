package tables_test

import (
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/itemize/itemize/mapper"
	"github.com/itemize/itemize/tables"
)

func ExampleOf() {
	type User struct {
		_     struct{} `ddb:"table=users"`
		_     struct{} `ddb:"index=byEmail,hash=Email,pk={Email}"`
		ID    string   `ddb:"pk=USER#{ID}"`
		Email string   `ddb:"sk=HEAD"`
	}
	users, err := mapper.New[User](dynamodb.New(dynamodb.Options{}))
	if err != nil {
		fmt.Println(err)
		return
	}
	needed := tables.Of(users)
	for _, d := range needed {
		fmt.Println(d.Name, "has", len(d.Create.GlobalSecondaryIndexes), "index")
	}
	fmt.Print(tables.CloudFormation(needed))
	// Output:
	// users has 1 index
	// Resources:
	//   UsersTable:
	//     Type: AWS::DynamoDB::Table
	//     Properties:
	//       TableName: "users"
	//       BillingMode: PAY_PER_REQUEST
	//       AttributeDefinitions:
	//         - AttributeName: "PK"
	//           AttributeType: "S"
	//         - AttributeName: "SK"
	//           AttributeType: "S"
	//         - AttributeName: "Email"
	//           AttributeType: "S"
	//       KeySchema:
	//         - AttributeName: "PK"
	//           KeyType: HASH
	//         - AttributeName: "SK"
	//           KeyType: RANGE
	//       GlobalSecondaryIndexes:
	//         - IndexName: "byEmail"
	//           KeySchema:
	//             - AttributeName: "Email"
	//               KeyType: HASH
	//           Projection:
	//             ProjectionType: ALL
}
