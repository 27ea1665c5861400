"""run.py read TABLE ID | email TABLE ID EMAIL | wish TABLE ID TIME TITLE | unique TABLE ID EMAIL: for a test."""

import json
import os
import sys

import boto3

import unique
import user

table = boto3.resource("dynamodb", endpoint_url=os.environ["ENDPOINT"], region_name="us-east-1").Table(sys.argv[2])
if sys.argv[1] == "unique":
    root = table.get_item(Key={"PK": user.partition(sys.argv[3]), "SK": "HEAD"}, ConsistentRead=True)["Item"]
    print(json.dumps(unique.change_email(table, root, sys.argv[4])))
    sys.exit()
items = user.read_user(table, sys.argv[3])
if items is None:
    print("null")
elif sys.argv[1] == "email":
    user.change_email(table, items["U#Information"], sys.argv[4])
elif sys.argv[1] == "wish":
    user.add_wish(table, items["U#Information"], sys.argv[4], sys.argv[5])
else:
    root = items["U#Information"]
    print(json.dumps({
        "email": root["email"],
        "wishes": [items[sk]["Title"] for sk in sorted(items) if sk.startswith("M#WishList#")],
    }))
