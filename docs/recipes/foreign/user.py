"""Items of the model User, beside Go programs that use itemize."""

import secrets

from boto3.dynamodb.conditions import Key


def partition(user_id):
    text = user_id.replace("%", "%25").replace("#", "%23")
    return "USER#" + ("%7E" + text[1:] if text.startswith("~") else text)


def get_root(table, user_id):
    key = {"PK": partition(user_id), "SK": "U#Information"}
    return table.get_item(Key=key, ConsistentRead=True).get("Item")


def is_live(root):
    """The root item means that the user exists. (In a table with a TTL it must not have expired.)"""
    return root is not None and root.get("_s", {"state": "live"}).get("state") == "live"


def read_user(table, user_id):
    """Return the items of a user by their sort keys, or None. The root item is read before and after them."""
    query = {"KeyConditionExpression": Key("PK").eq(partition(user_id)), "ConsistentRead": True}
    while is_live(root := get_root(table, user_id)):
        page = table.query(**query)
        items = page["Items"]
        while "LastEvaluatedKey" in page:
            page = table.query(**query, ExclusiveStartKey=page["LastEvaluatedKey"])
            items += page["Items"]
        after = get_root(table, user_id)
        if is_live(after) and after.get("_a") == root.get("_a"):
            # Items with another _a were left over from a deleted user.
            return {item["SK"]: item for item in items if item.get("_a") in (None, root.get("_a"))}
    return None


def change_email(table, item, email):
    """Change an item that was read. ConditionalCheckFailedException: another program was faster."""
    values = {":email": email, ":new": secrets.token_bytes(8)}
    if "_v" in item:
        condition, values[":old"] = "#v = :old", item["_v"]
    else:
        condition = "attribute_exists(PK) AND attribute_not_exists(#v) AND email = :was"
        values[":was"] = item["email"]
    table.update_item(
        Key={"PK": item["PK"], "SK": item["SK"]},
        UpdateExpression="SET email = :email, #v = :new",
        ConditionExpression=condition,
        ExpressionAttributeNames={"#v": "_v"},
        ExpressionAttributeValues=values,
    )


def add_wish(table, root, added_at, title):
    """Add an element to a user whose root item was read. added_at is UTC, with nine digits of a second.

    A leftover item of a deleted user can have the key. Then this is refused, and the library replaces it.
    """
    wish = {
        "PK": root["PK"], "SK": "M#WishList#" + added_at, "Title": title, "_v": secrets.token_bytes(8),
    }
    same, values = "attribute_not_exists(#a)", {":live": "live"}
    if "_a" in root:
        wish["_a"] = root["_a"]
        same, values[":a"] = "#a = :a", root["_a"]
    table.meta.client.transact_write_items(TransactItems=[
        {"ConditionCheck": {
            "TableName": table.name,
            "Key": {"PK": root["PK"], "SK": root["SK"]},
            "ConditionExpression": same + " AND attribute_exists(PK) AND "
                                          "(attribute_not_exists(#s) OR #s.#state = :live)",
            "ExpressionAttributeNames": {"#a": "_a", "#s": "_s", "#state": "state"},
            "ExpressionAttributeValues": values,
        }},
        {"Put": {
            "TableName": table.name, "Item": wish, "ConditionExpression": "attribute_not_exists(PK)",
        }},
    ])
