"""The unique e-mail address (unique=fold) of the model User in docs/recipes/unique-values.md."""

import hashlib
import secrets


def fold(text):
    """Simple case folding: each character becomes the lower case of its upper case, if both are single."""
    def one(c):
        upper = c.upper()
        return c if c in "\u0130\u0131" else upper.lower() if len(upper) == 1 else c.lower()
    return "".join(one(c) for c in text)


def guard_key(email):
    value = fold(email).replace("%", "%25").replace("#", "%23")
    if value.startswith("~"):
        value = "%7E" + value[1:]
    if len(value.encode()) > 1000:
        value = "~" + hashlib.sha256(value.encode()).hexdigest()
    return {"PK": "~unique#User#Email#" + value, "SK": "guard"}


def is_live(root):
    return root is not None and root.get("_s", {"state": "live"}).get("state") == "live"


def take(table, root, email):
    """Return the write that gives an address to a root item, None if another user has it."""
    key = guard_key(email)
    guard = table.get_item(Key=key, ConsistentRead=True).get("Item")
    put = {
        "TableName": table.name,
        "Item": key | {"~pk": root["PK"], "~sk": root["SK"], "_a": root["_a"], "_v": secrets.token_bytes(8)},
        "ConditionExpression": "attribute_not_exists(PK)",
    }
    if guard is not None:
        owner = {"PK": guard["~pk"], "SK": guard["~sk"]}
        other = table.get_item(Key=owner, ConsistentRead=True).get("Item")
        same = owner == {"PK": root["PK"], "SK": root["SK"]}
        if not same and is_live(other) and other.get("_a") == guard.get("_a") and \
                guard_key(other.get("Email", "")) == key:
            return None
        put["ConditionExpression"] = "#v = :v"
        put["ExpressionAttributeNames"] = {"#v": "_v"}
        put["ExpressionAttributeValues"] = {":v": guard["_v"]}
    return {"Put": put}


def change_email(table, root, email):
    """Change the address of a root item that was read. Return False if another user has it.

    TransactionCanceledException: another program was faster.
    """
    writes = [{"Update": {
        "TableName": table.name, "Key": {"PK": root["PK"], "SK": root["SK"]},
        "UpdateExpression": "SET Email = :email, #v = :new",
        "ConditionExpression": "#v = :old",
        "ExpressionAttributeNames": {"#v": "_v"},
        "ExpressionAttributeValues": {":email": email, ":old": root["_v"], ":new": secrets.token_bytes(8)},
    }}]
    old = root.get("Email", "")
    if email and guard_key(email) != guard_key(old):
        put = take(table, root, email)
        if put is None:
            return False
        writes.append(put)
    if old and guard_key(email) != guard_key(old):
        writes.append({"Delete": {
            "TableName": table.name, "Key": guard_key(old),
            "ConditionExpression": "attribute_not_exists(PK) OR (#pk = :pk AND #sk = :sk AND #a = :a)",
            "ExpressionAttributeNames": {"#pk": "~pk", "#sk": "~sk", "#a": "_a"},
            "ExpressionAttributeValues": {":pk": root["PK"], ":sk": root["SK"], ":a": root["_a"]},
        }})
    table.meta.client.transact_write_items(TransactItems=writes)
    return True
