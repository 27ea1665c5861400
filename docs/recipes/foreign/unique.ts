// The unique e-mail address (unique=fold) of the model User in docs/recipes/unique-values.md.

import { createHash, randomBytes } from "node:crypto";

import { DynamoDBDocumentClient, GetCommand, TransactWriteCommand } from "@aws-sdk/lib-dynamodb";

type Item = Record<string, any>;

// fold is simple case folding: each character becomes the lower case of its upper case, if both are single.
export function fold(text: string): string {
	return [...text].map((c) => {
		const upper = c.toUpperCase();
		return c === "\u0130" || c === "\u0131" ? c : [...upper].length === 1 ? upper.toLowerCase() : c.toLowerCase();
	}).join("");
}

export function guardKey(email: string): Item {
	let value = fold(email).replaceAll("%", "%25").replaceAll("#", "%23").replace(/^~/, "%7E");
	if (Buffer.byteLength(value) > 1000) {
		value = "~" + createHash("sha256").update(value).digest("hex");
	}
	return { PK: "~unique#User#Email#" + value, SK: "guard" };
}

function isLive(root: Item | undefined): root is Item {
	return root !== undefined && (root._s === undefined || root._s.state === "live");
}

function same(a?: Uint8Array, b?: Uint8Array): boolean {
	return a === b || a !== undefined && b !== undefined && Buffer.compare(a, b) === 0;
}

async function get(db: DynamoDBDocumentClient, table: string, key: Item): Promise<Item | undefined> {
	return (await db.send(new GetCommand({ TableName: table, Key: key, ConsistentRead: true }))).Item;
}

// take returns the write that gives an address to a root item, undefined if another user has it.
async function take(db: DynamoDBDocumentClient, table: string, root: Item, email: string): Promise<Item | undefined> {
	const key = guardKey(email);
	const guard = await get(db, table, key);
	const put: Item = {
		TableName: table,
		Item: { ...key, "~pk": root.PK, "~sk": root.SK, _a: root._a, _v: randomBytes(8) },
		ConditionExpression: "attribute_not_exists(PK)",
	};
	if (guard !== undefined) {
		const other = await get(db, table, { PK: guard["~pk"], SK: guard["~sk"] });
		const own = guard["~pk"] === root.PK && guard["~sk"] === root.SK;
		if (!own && isLive(other) && same(other._a, guard._a) && guardKey(other.Email ?? "").PK === key.PK) {
			return undefined;
		}
		put.ConditionExpression = "#v = :v";
		put.ExpressionAttributeNames = { "#v": "_v" };
		put.ExpressionAttributeValues = { ":v": guard._v };
	}
	return { Put: put };
}

// changeEmail changes the address of a root item that was read. It returns false if another user has it.
// TransactionCanceledException: another program was faster.
export async function changeEmail(db: DynamoDBDocumentClient, table: string, root: Item, email: string): Promise<boolean> {
	const writes: Item[] = [{
		Update: {
			TableName: table, Key: { PK: root.PK, SK: root.SK },
			UpdateExpression: "SET Email = :email, #v = :new", ConditionExpression: "#v = :old",
			ExpressionAttributeNames: { "#v": "_v" },
			ExpressionAttributeValues: { ":email": email, ":old": root._v, ":new": randomBytes(8) },
		},
	}];
	const old: string = root.Email ?? "";
	const changes = guardKey(email).PK !== guardKey(old).PK;
	if (email !== "" && changes) {
		const put = await take(db, table, root, email);
		if (put === undefined) {
			return false;
		}
		writes.push(put);
	}
	if (old !== "" && changes) {
		writes.push({
			Delete: {
				TableName: table, Key: guardKey(old),
				ConditionExpression: "attribute_not_exists(PK) OR (#pk = :pk AND #sk = :sk AND #a = :a)",
				ExpressionAttributeNames: { "#pk": "~pk", "#sk": "~sk", "#a": "_a" },
				ExpressionAttributeValues: { ":pk": root.PK, ":sk": root.SK, ":a": root._a },
			},
		});
	}
	await db.send(new TransactWriteCommand({ TransactItems: writes as any }));
	return true;
}
