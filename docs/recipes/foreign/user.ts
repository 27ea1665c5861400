// Items of the model User, beside Go programs that use itemize.

import { randomBytes } from "node:crypto";

import {
	DynamoDBDocumentClient, GetCommand, QueryCommand, TransactWriteCommand, UpdateCommand,
} from "@aws-sdk/lib-dynamodb";

export type Item = Record<string, any>;

function partition(id: string): string {
	return "USER#" + id.replaceAll("%", "%25").replaceAll("#", "%23").replace(/^~/, "%7E");
}

// The root item means that the user exists. (In a table with a TTL it must not have expired.)
function isLive(root: Item | undefined): root is Item {
	return root !== undefined && (root._s === undefined || root._s.state === "live");
}

function same(a?: Uint8Array, b?: Uint8Array): boolean {
	return a === b || a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

async function getRoot(db: DynamoDBDocumentClient, table: string, id: string): Promise<Item | undefined> {
	const key = { PK: partition(id), SK: "U#Information" };
	return (await db.send(new GetCommand({ TableName: table, Key: key, ConsistentRead: true }))).Item;
}

// readUser returns the items of a user by their sort keys, undefined if there is no such user. The root item is read
// before and after them.
export async function readUser(db: DynamoDBDocumentClient, table: string, id: string): Promise<Map<string, Item> | undefined> {
	for (;;) {
		const root = await getRoot(db, table, id);
		if (!isLive(root)) {
			return undefined;
		}
		const items = new Map<string, Item>();
		let start: Item | undefined;
		do {
			const page = await db.send(new QueryCommand({
				TableName: table, ConsistentRead: true, ExclusiveStartKey: start,
				KeyConditionExpression: "PK = :pk", ExpressionAttributeValues: { ":pk": partition(id) },
			}));
			for (const item of page.Items ?? []) {
				if (item._a === undefined || same(item._a, root._a)) { // others were left over from a deleted user
					items.set(item.SK, item);
				}
			}
			start = page.LastEvaluatedKey;
		} while (start !== undefined);
		const after = await getRoot(db, table, id);
		if (isLive(after) && same(after._a, root._a)) {
			return items;
		}
	}
}

// changeEmail changes an item that was read. ConditionalCheckFailedException: another program was faster.
export async function changeEmail(db: DynamoDBDocumentClient, table: string, item: Item, email: string): Promise<void> {
	const values: Item = { ":email": email, ":new": randomBytes(8) };
	let condition = "#v = :old";
	if (item._v === undefined) {
		condition = "attribute_exists(PK) AND attribute_not_exists(#v) AND email = :was";
		values[":was"] = item.email;
	} else {
		values[":old"] = item._v;
	}
	await db.send(new UpdateCommand({
		TableName: table, Key: { PK: item.PK, SK: item.SK },
		UpdateExpression: "SET email = :email, #v = :new", ConditionExpression: condition,
		ExpressionAttributeNames: { "#v": "_v" }, ExpressionAttributeValues: values,
	}));
}

// addWish adds an element to a user whose root item was read. addedAt is UTC, with nine digits of a second. A leftover item
// of a deleted user can have the key. Then this is refused, and the library replaces it.
export async function addWish(db: DynamoDBDocumentClient, table: string, root: Item, addedAt: string, title: string): Promise<void> {
	const wish: Item = { PK: root.PK, SK: "M#WishList#" + addedAt, Title: title, _v: randomBytes(8) };
	const values: Item = { ":live": "live" };
	let entity = "attribute_not_exists(#a)";
	if (root._a !== undefined) {
		wish._a = root._a;
		values[":a"] = root._a;
		entity = "#a = :a";
	}
	await db.send(new TransactWriteCommand({
		TransactItems: [
			{
				ConditionCheck: {
					TableName: table, Key: { PK: root.PK, SK: root.SK },
					ConditionExpression: entity + " AND attribute_exists(PK) AND (attribute_not_exists(#s) OR #s.#state = :live)",
					ExpressionAttributeNames: { "#a": "_a", "#s": "_s", "#state": "state" },
					ExpressionAttributeValues: values,
				},
			},
			{ Put: { TableName: table, Item: wish, ConditionExpression: "attribute_not_exists(PK)" } },
		],
	}));
}
