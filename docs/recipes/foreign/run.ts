// run.ts read TABLE ID | email TABLE ID EMAIL | wish TABLE ID TIME TITLE | unique TABLE ID EMAIL: for a test.

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient, GetCommand } from "@aws-sdk/lib-dynamodb";

import * as unique from "./unique.js";
import { addWish, changeEmail, readUser } from "./user.js";

const db = DynamoDBDocumentClient.from(new DynamoDBClient({ endpoint: process.env.ENDPOINT, region: "us-east-1" }));
const [, , command, table, id, ...rest] = process.argv as [string, string, string, string, string, ...string[]];
if (command === "unique") {
	const key = { PK: "USER#" + id, SK: "HEAD" };
	const found = (await db.send(new GetCommand({ TableName: table, Key: key, ConsistentRead: true }))).Item;
	console.log(JSON.stringify(await unique.changeEmail(db, table, found ?? {}, rest[0] ?? "")));
	process.exit();
}
const items = await readUser(db, table, id);
const root = items?.get("U#Information");
if (items === undefined || root === undefined) {
	console.log("null");
} else if (command === "email") {
	await changeEmail(db, table, root, rest[0] ?? "");
} else if (command === "wish") {
	await addWish(db, table, root, rest[0] ?? "", rest[1] ?? "");
} else {
	const wishes = [...items.keys()].sort().filter((sk) => sk.startsWith("M#WishList#")).map((sk) => items.get(sk)?.Title);
	console.log(JSON.stringify({ email: root.email, wishes }));
}
