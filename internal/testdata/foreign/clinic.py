"""Read and write clinics in DynamoDB, as items of the stored format.

Usage: clinic.py read|delete TABLE ID
       clinic.py insert TABLE           (the clinic as JSON on standard input)
       clinic.py rename TABLE ID NAME
       clinic.py visit TABLE ID         (the visit as JSON on standard input)

Exit status: 0 done, 1 other error, 3 exists (insert) or does not exist
(others), 4 another writer was faster, 5 the scan is too large.

Environment: ENDPOINT, AWS_REGION, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY.
"""

import base64
import calendar
import gzip
import hashlib
import json
import os
import random
import re
import sys
import time
import zlib
from datetime import datetime, timezone
from decimal import Decimal
from urllib.parse import unquote

import boto3

TIME_FORMAT = '%Y-%m-%dT%H:%M:%S'
ZERO_SECONDS = -62135596800     # the zero time
ZERO_TIME = '0001-01-01T00:00:00Z'
INLINE = 1024                   # bytes of a scan in its item
ITEM_LIMIT = 64 * 1024 * 1024   # decompressed bytes in an item
TRANSACTION_ITEMS = 100
TRANSACTION_BYTES = 3_500_000   # DynamoDB accepts 4 MB
TEMPORARY = {'None', 'TransactionConflict', 'ThrottlingError',
             'ProvisionedThroughputExceeded'}
ATTEMPTS = 12
VERSIONS = set()                # the versions that this process has made


class Failure(Exception):
    def __init__(self, message, status=1):
        super().__init__(message)
        self.status = status


class ScanReplaced(Exception):
    """The external value was replaced while it was read."""


# Times are text: datetime has only microseconds.

def nine_digits(text):
    match = re.fullmatch(r'([0-9T:-]{19})(?:\.([0-9]+))?'
                         r'(Z|[+-][0-9]{2}:[0-9]{2})', text)
    if not match:
        raise ValueError(f'not a time: {text}')
    clock, fraction, zone = match.groups('')
    clock = datetime.fromisoformat(clock + zone).astimezone(timezone.utc)
    return f'{clock.isoformat()[:19]}.{fraction[:9].ljust(9, "0")}Z'


def utc(text):
    """A time in UTC, with the fraction that is needed."""
    return nine_digits(text)[:-1].rstrip('0').rstrip('.') + 'Z'


def key_time(text):
    if utc(text) == ZERO_TIME:
        raise ValueError('the zero time cannot be in a key')
    return nine_digits(text)


def key_text(text):
    if not text:
        raise ValueError('an empty text cannot be in a key')
    text = text.replace('%', '%25').replace('#', '%23')
    return '%7E' + text[1:] if text.startswith('~') else text


def digits(number, count, offset=0):
    if not 0 <= number + offset < min(10**count, 2**64):
        raise ValueError(f'a number in a key is out of range: {number}')
    return f'{number + offset:0{count}}'


# Compressed values.

def compress_text(text):
    frame = gzip.compress(text.encode(), mtime=0)
    return frame if len(frame) < len(text.encode()) else text


def decompress(frame, limit=ITEM_LIMIT):
    stream = zlib.decompressobj(wbits=47)   # gzip or zlib
    try:
        data = stream.decompress(frame, limit + 1)
    except zlib.error as error:
        raise Failure(f'unsupported codec, or damaged: {error}') from None
    if len(data) > limit or not stream.eof or stream.unused_data:
        raise Failure('a compressed value is too large or damaged')
    return data


def read_text(stored):
    if stored is None or isinstance(stored, str):
        return stored or ''
    return decompress(stored.value).decode()


def small_scan(text):
    data = base64.b64decode(text)
    if len(data) > INLINE:
        raise Failure('the scan is too large', 5)
    return data


# The layout. A field has a function from JSON to the table, and one back. No
# attribute and None stand for the zero value.

SAME = (lambda value: value), (lambda value: value)
STRING = (lambda value: value), (lambda value: value or '')
INT = (lambda value: value), (lambda value: int(value or 0))
FLOAT = (lambda value: Decimal(repr(float(value))),
         lambda value: float(value or 0))
TIME = utc, lambda value: utc(value or ZERO_TIME)
UNIX = (lambda value: value,
        lambda value: ZERO_SECONDS if value is None else int(value))
TAGS = set, lambda value: sorted(value or [])
COUNTS = (lambda value: value,
          lambda value: value and {k: int(n or 0) for k, n in value.items()})
KEY_TEXT = key_text, unquote
FLOOR = (lambda number: digits(number, 20, 2**63),
         lambda text: int(text) - 2**63)
NUMBER = (lambda number: digits(number, 4)), int

LAYOUT = {      # word of the sort key: fields in it, fields in attributes
    'HEAD': ({}, {'Name': STRING, 'Opened': TIME, 'Beds': INT,
                  'Rating': FLOAT, 'Tags': TAGS}),
    'ADDRESS': ({}, {'Street': STRING, 'City': STRING, 'Lines': SAME}),
    'LETTER': ({}, {'Letter': (compress_text, read_text)}),
    'OFFER': ({}, {'Text': STRING, 'Until': TIME}),
    'SCAN': ({}, {'Scan': (small_scan, lambda value: value)}),
    'VISIT': ({'At': (key_time, utc), 'Patient': KEY_TEXT},
              {'Reason': STRING, 'Cost': INT}),
    'STAFF': ({'key': KEY_TEXT},
              {'Role': STRING, 'Since': UNIX, 'Phone': SAME}),
    'ROOM': ({'Floor': FLOOR, 'Number': NUMBER},
             {'Beds': INT, 'Equipment': COUNTS}),
    'WARD': ({'key': KEY_TEXT}, {}),
}
ATTRIBUTES = {'Tags': 'tags', 'City': 'city'}   # of fields with another name


def partition_key(clinic_id):
    return f'CLINIC#{key_text(clinic_id)}'


def sort_key(word, value):
    texts = [to(value[name]) for name, (to, _) in LAYOUT[word][0].items()]
    return '#'.join([word, *texts])


def parse_key(key):
    """The word of a sort key and its fields, or None."""
    word, *texts = key.split('#')
    try:
        value = {name: back(text) for (name, (_, back)), text
                 in zip(LAYOUT[word][0].items(), texts, strict=True)}
        return (word, value) if sort_key(word, value) == key else None
    except (KeyError, ValueError):
        return None


def to_item(word, value):
    item = {'SK': sort_key(word, value)}
    for name, (to, _) in LAYOUT[word][1].items():
        item[ATTRIBUTES.get(name, name)] = to(value[name])
    if item.get('tags') == set():
        del item['tags']
    if word == 'OFFER' and item['Until'] != ZERO_TIME:
        until = time.strptime(item['Until'][:19], TIME_FORMAT)
        item['expires'] = calendar.timegm(until)
    return item


def to_items(clinic):
    """The items without partition key and reserved attributes."""
    if len(set(clinic['Tags'] or [])) < len(clinic['Tags'] or []):
        raise ValueError('two tags are equal')
    clinic = {**clinic, 'Tags': clinic['Tags'] or []}
    values = [
        ('HEAD', clinic), ('ADDRESS', clinic['Address']),
        ('LETTER', clinic if clinic['Letter'] else None),
        ('OFFER', clinic['Offer']),
        ('SCAN', None if clinic['Scan'] is None else clinic),
        *(('VISIT', visit) for visit in clinic['Visits'] or []),
        *(('ROOM', room) for room in clinic['Rooms'] or []),
        *(('STAFF', {**person, 'key': key})
          for key, person in (clinic['Staff'] or {}).items()),
        *(('WARD', {'key': ward}) for ward in clinic['Wards'] or [])]
    items = [to_item(word, value) for word, value in values if value]
    if len({item['SK'] for item in items}) < len(items):
        raise ValueError('two elements have the same key')
    return items


def from_items(table, clinic_id, items):
    found = {word: [] for word in LAYOUT}
    for item in items:
        if parsed := parse_key(item['SK']):
            word, value = parsed
            found[word].append({**value, **{
                name: back(item.get(ATTRIBUTES.get(name, name)))
                for name, (_, back) in LAYOUT[word][1].items()}})
    staff = {person.pop('key'): person for person in found['STAFF']}
    one = {word: values[0] if values else None
           for word, values in found.items()}
    scan = read_scan(table, next((item for item in items
                                  if item['SK'] == 'SCAN'), {}))
    return {'ID': clinic_id, **one['HEAD'], 'Address': one['ADDRESS'],
            **(one['LETTER'] or {'Letter': ''}), 'Visits': found['VISIT'],
            'Staff': staff, 'Rooms': found['ROOM'],
            'Wards': [ward['key'] for ward in found['WARD']],
            'Offer': one['OFFER'],
            'Scan': None if scan is None else base64.b64encode(scan).decode()}


def read_scan(table, item):
    """The bytes of the scan, which can be in parts in the same table."""
    pointer = item.get('Scan')
    if not isinstance(pointer, dict):
        return None if pointer is None else bytes(pointer)
    if 'B' in pointer:
        return decompress(pointer['B'].value)
    if pointer['~'] != 'chunk':
        raise Failure('the scan is not in the same table')
    partition = item['PK']
    if len(partition.encode()) > 1984:
        partition = '~' + hashlib.sha256(partition.encode()).hexdigest()
    parts = {part['SK']: part['~data'].value for part
             in query(table, f'{partition}#~{pointer["id"]}')}
    data = b''.join(parts.get(f'{number:06}', b'')
                    for number in range(int(pointer['parts'])))
    if 'codec' in pointer and len(data) == pointer['stored']:
        data = decompress(data, int(pointer['length']))
    if (len(data) != pointer['length']
            or hashlib.sha256(data).digest() != pointer['sha256']):
        again = get(table, item['PK'], item['SK']) or {}
        if again.get('Scan') == pointer:
            raise Failure('the scan is damaged')
        raise ScanReplaced
    return data


# What exists, and conditions. In a condition #name is an attribute, and :name
# the value of the same name.

LIVE = ('attribute_exists(#PK)'
        ' AND (attribute_not_exists(#_s) OR #_s.#state = :live)'
        ' AND NOT (#expires <= :now AND #expires <> :zero)')


def expired(item):
    expires = item.get('expires')
    return (isinstance(expires, Decimal) and expires != ZERO_SECONDS
            and expires <= time.time())


def state(root):
    mark = (root or {'_s': None}).get('_s', {'state': 'live'})
    return mark.get('state') if isinstance(mark, dict) else None


def live(root):
    """Whether the entity of this root item exists; None is no item."""
    return state(root) == 'live' and not expired(root)


def belongs(item, root):
    return '_a' not in item or item['_a'] == root.get('_a')


def free(old, item):
    """Whether the key of the old item is free for the item."""
    return not old or expired(old) or not belongs(old, item)


def same(item, *names):
    """The condition that attributes are as they were read."""
    return ' AND '.join(f'#{name} = :{name}' if name in item
                        else f'attribute_not_exists(#{name})'
                        for name in names)


def unchanged(item):
    """The same item. Its values guard an item without a version."""
    if not item:
        return 'attribute_not_exists(#PK)'
    names = {'PK', '_v', '_a', '_s', 'expires'}
    if '_v' not in item:
        names.update(filter(str.isidentifier, item))
    return same(item, *sorted(names))


# Requests.

def get(table, partition, sort='HEAD'):
    return table.get_item(Key={'PK': partition, 'SK': sort},
                          ConsistentRead=True).get('Item')


def query(table, partition):
    pages = table.meta.client.get_paginator('query').paginate(
        TableName=table.name, ConsistentRead=True,
        KeyConditionExpression='PK = :pk',
        ExpressionAttributeValues={':pk': partition})
    return [item for page in pages for item in page['Items']]


def new_version():
    version = os.urandom(8)
    VERSIONS.add(version)
    return version


def action(table, kind, item, condition, old=None, update='', **values):
    """An action of a transaction; old has the values of the condition."""
    text = f'{condition} {update}'
    values.update(old or item, live='live', zero=ZERO_SECONDS,
                  now=int(time.time()))
    request = {
        'TableName': table.name, 'ConditionExpression': condition,
        'ExpressionAttributeNames': {f'#{name}': name for name
                                     in re.findall(r'#(\w+)', text)},
        'ReturnValuesOnConditionCheckFailure': 'ALL_OLD'}
    if kind == 'Put':
        request['Item'] = item
    else:
        request['Key'] = {'PK': item['PK'], 'SK': item['SK']}
    if update:
        request['UpdateExpression'] = update
    if ':' in text:
        request['ExpressionAttributeValues'] = {
            f':{name}': values[name] for name in re.findall(r':(\w+)', text)}
    return {kind: request}


def put(table, item, old):
    return action(table, 'Put', item, unchanged(old), old)


def delete_item(table, item):
    return action(table, 'Delete', item, unchanged(item))


def write(table, *actions):
    """Write all or nothing. Returns whether all conditions are true.

    A single item is a transaction, too: a request that boto3 repeats has the
    same token. If a condition is false because of an earlier attempt anyway,
    its item has a version of this process.
    """
    client = table.meta.client
    for attempt in range(ATTEMPTS):
        try:
            client.transact_write_items(TransactItems=list(actions))
            return True
        except client.exceptions.TransactionCanceledException as error:
            reasons = error.response['CancellationReasons']
            codes = {reason['Code'] for reason in reasons}
            if 'ConditionalCheckFailed' in codes:
                return any(reason.get('Item', {}).get('_v', {}).get('B')
                           in VERSIONS for reason in reasons)
            if not codes <= TEMPORARY:
                raise
            time.sleep(random.random() * 0.02 * 2**attempt)
    raise Failure('too many conflicts', 4)


def small(items):
    """Whether one transaction can have all these items."""
    return (len(items) <= TRANSACTION_ITEMS
            and len(repr(items).encode()) <= TRANSACTION_BYTES)


# Commands.

def existing_root(table, partition):
    if live(root := get(table, partition)):
        return root
    raise Failure('the clinic does not exist', 3)


def faster(table, partition):
    """Fail, since the entity is not as it was read."""
    existing_root(table, partition)
    raise Failure('another writer was faster', 4)


def read(table, clinic_id):
    print(json.dumps(load(table, partition_key(clinic_id), clinic_id)))


def load(table, partition, clinic_id):
    while live(root := get(table, partition)):
        # Other items can be on an earlier page than the root item, so it is
        # read before them and after them.
        items = query(table, partition)
        heads = [item for item in items if item['SK'] == 'HEAD'] or [None]
        heads.append(get(table, partition))
        if all(live(head) and head.get('_a') == root.get('_a')
               for head in heads):
            try:
                return from_items(table, clinic_id, [
                    item for item in items
                    if belongs(item, root) and not expired(item)])
            except ScanReplaced:
                pass


def insert(table):
    clinic = json.load(sys.stdin.buffer)
    partition, incarnation = partition_key(clinic['ID']), os.urandom(8)
    items = [{'PK': partition, **item, '_v': new_version(), '_a': incarnation}
             for item in to_items(clinic)]
    for _ in range(ATTEMPTS):
        old = {item['SK']: item for item in query(table, partition)}
        old['HEAD'] = root = get(table, partition)
        if live(root):
            raise Failure('the clinic exists', 3)
        if root and ('_m' in root or state(root) not in
                     ('live', 'inserting', 'deleting')):
            raise Failure('the root item belongs to a migration')
        if not all(free(old.get(item['SK']), item) for item in items[1:]):
            raise Failure('an item without incarnation is in the way')
        if not small(items):
            return insert_staged(table, items, old)
        if write(table, *(put(table, item, old.get(item['SK']))
                          for item in items)):
            return
    raise Failure('other writers were faster', 4)


def insert_staged(table, items, old):
    root = items[0]
    claim = {name: root[name] for name in ('PK', 'SK', '_a')}
    claim.update(_v=new_version(),
                 _s={'state': 'inserting', 'since': int(time.time())})
    if not write(table, put(table, claim, old['HEAD'])):
        raise Failure('another writer was faster', 4)
    try:
        for item in items[1:]:
            item['_s'] = True
            put_free(table, item, old.get(item['SK']), claim)
        root['_s'] = {'state': 'live', 'since': int(time.time())}
        if not write(table, put(table, root, claim)):
            raise Failure('another writer has taken over', 4)
    except Exception:
        if not write(table, delete_item(table, claim)):
            now = get(table, root['PK'])
            if live(now) and now.get('_a') == claim['_a']:
                return  # it was successful, and has been changed since
        for item in items[1:]:
            write(table, action(table, 'Delete', item, same(item, '_a')))
        if live(get(table, root['PK'])):
            raise Failure('the clinic exists', 3) from None
        raise


def put_free(table, item, old, claim):
    """Put an item of a staged insert; old is what was read at its key."""
    check = action(table, 'ConditionCheck', claim, same(claim, '_v'))
    while not write(table, put(table, item, old), check):
        old = get(table, item['PK'], item['SK'])
        root = get(table, item['PK']) or {}
        if root.get('_v') != claim['_v']:
            raise Failure('another writer has taken over', 4)
        if not free(old, item):
            raise Failure('an item without incarnation is in the way')


def rename(table, clinic_id, name):
    root = existing_root(table, partition_key(clinic_id))
    condition = f'{LIVE} AND {same(root, "_v", "_a", "Name")}'
    if not write(table, action(
            table, 'Update', root, condition, new_name=name,
            new_v=new_version(),
            update='SET #Name = :new_name, #_v = :new_v')):
        faster(table, root['PK'])


def visit(table, clinic_id):
    partition = partition_key(clinic_id)
    new = {'PK': partition, '_v': new_version(),
           **to_item('VISIT', json.load(sys.stdin.buffer))}
    for _ in range(ATTEMPTS):
        old = get(table, partition, new['SK'])
        root = existing_root(table, partition)
        item = {**new, '_a': root['_a']} if '_a' in root else new
        if not free(old, item):
            raise Failure('the clinic has a visit with this key')
        check = action(table, 'ConditionCheck', root,
                       f'{LIVE} AND {same(root, "_a")}')
        if write(table, check, put(table, item, old)):
            return
    raise Failure('other writers were faster', 4)


def others(table, root):
    """The items of the entity, without the root item."""
    return [item for item in query(table, root['PK'])
            if item['SK'] != 'HEAD' and belongs(item, root)
            and ('_a' in item or parse_key(item['SK']))]


def delete(table, clinic_id):
    root = get(table, partition_key(clinic_id))
    if not live(root) and state(root) != 'deleting':
        raise Failure('the clinic does not exist', 3)
    if '_m' in root:
        raise Failure('the clinic belongs to a migration')
    items = [root, *others(table, root)]
    # Without incarnation, late items could belong to the next entity.
    if not live(root) or '_a' not in root or not small(items):
        return delete_staged(table, root)
    if not write(table, *(delete_item(table, item) for item in items)):
        faster(table, root['PK'])
    for item in others(table, root):
        if '_a' in item:
            write(table, action(table, 'Delete', item, same(item, '_a')))


def delete_staged(table, root):
    by = None if live(root) else root['_s'].get('by')
    if not by:
        by = os.urandom(8)
        mark = {'state': 'deleting', 'since': int(time.time()), 'by': by}
        if not write(table, action(
                table, 'Update', root, unchanged(root), new_s=mark,
                new_v=new_version(),
                update='SET #_s = :new_s, #_v = :new_v')):
            faster(table, root['PK'])
    for _ in range(ATTEMPTS):
        items = others(table, root)
        now = get(table, root['PK'])
        mine = state(now) == 'deleting' and now['_s'].get('by') == by
        if not mine:    # taken over: only what was of this incarnation
            items = [item for item in items if '_a' in item]
        for item in items:
            write(table, delete_item(table, item))
        if not items:
            if mine:
                write(table, action(table, 'Delete', root, '#_s.#by = :by',
                                    by=by))
            return
    raise Failure('other writers were faster', 4)


def main():
    commands = {command.__name__: command
                for command in (read, insert, rename, visit, delete)}
    if len(sys.argv) < 3 or sys.argv[1] not in commands:
        sys.exit(__doc__)
    table = boto3.resource(
        'dynamodb', os.environ['AWS_REGION'], endpoint_url=os.environ['ENDPOINT'],
    ).Table(sys.argv[2])
    try:
        note = get(table, '~format#Clinic', 'format')
        if note and note['version'] > 1:
            raise Failure('the format of this table is newer')
        commands[sys.argv[1]](table, *sys.argv[3:])
    except (Failure, ValueError) as error:
        print(error, file=sys.stderr)
        sys.exit(getattr(error, 'status', 1))


if __name__ == '__main__':
    main()
