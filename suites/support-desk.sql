-- A small shop's help desk. Dates are days; the desk's today is 2026-03-20.

create table customers (
    id      text primary key,
    name    text not null,
    email   text not null unique,
    tier    text not null check (tier in ('standard', 'gold'))
);

create table orders (
    id        text primary key,
    customer  text not null references customers (id),
    ordered   text not null,
    delivered text,
    status    text not null check (status in ('placed', 'partly shipped', 'shipped', 'delivered', 'cancelled')),
    address   text not null
);

create table items (
    "order"  text not null references orders (id),
    sku      text not null,
    name     text not null,
    price    real not null,
    state    text not null check (state in ('waiting', 'shipped', 'delivered', 'out of stock')),
    primary key ("order", sku)
);

create table refunds (
    id      integer primary key,
    "order" text not null references orders (id),
    amount  real not null check (amount > 0),
    reason  text not null
);

create table replacements (
    id      integer primary key,
    "order" text not null references orders (id),
    sku     text not null
);

create table tickets (
    id       text primary key,
    email    text not null,
    customer text references customers (id),
    decision text check (decision in ('refunded', 'replaced', 'cancelled', 'changed', 'refused'))
);

create table policies (
    topic text primary key,
    text  text not null
);

insert into customers values
    ('C01', 'Harbour Bakery',   'office@harbour-bakery.example',   'standard'),
    ('C02', 'Northgate Cycles', 'shop@northgate-cycles.example',   'standard'),
    ('C03', 'Linden Florist',   'hello@linden-florist.example',    'gold'),
    ('C04', 'Quarry Books',     'orders@quarry-books.example',     'standard'),
    ('C05', 'Mill Street Cafe', 'desk@mill-street-cafe.example',   'standard');

insert into orders values
    ('A100', 'C01', '2026-03-09', '2026-03-14', 'delivered',      '4 Harbour Road'),
    ('A101', 'C01', '2026-01-28', '2026-02-03', 'delivered',      '4 Harbour Road'),
    ('A110', 'C02', '2026-03-11', null,         'partly shipped', '71 Northgate'),
    ('A111', 'C02', '2026-03-18', null,         'placed',         '71 Northgate'),
    ('A112', 'C02', '2026-03-16', null,         'shipped',        '71 Northgate'),
    ('A120', 'C03', '2026-01-29', '2026-02-04', 'delivered',      '2 Linden Court'),
    ('A130', 'C04', '2026-03-02', '2026-03-06', 'delivered',      '15 Quarry Lane'),
    ('A131', 'C04', '2025-07-01', '2025-07-05', 'delivered',      '15 Quarry Lane'),
    ('A140', 'C05', '2026-03-01', '2026-03-05', 'delivered',      '30 Mill Street');

insert into items values
    ('A100', 'KETTLE-2L', 'kettle, 2 litres',        49.90, 'delivered'),
    ('A100', 'CUP-6',     'six cups',                18.00, 'delivered'),
    ('A101', 'MIXER-5',   'kneading machine',       240.00, 'delivered'),
    ('A110', 'PUMP-F',    'floor pump',              34.50, 'shipped'),
    ('A110', 'LOCK-U',    'U-lock',                  62.00, 'shipped'),
    ('A110', 'LAMP-R',    'rear lamp',               21.75, 'out of stock'),
    ('A111', 'STAND-W',   'work stand',             129.00, 'waiting'),
    ('A112', 'TYRE-28',   'two tyres',               58.40, 'shipped'),
    ('A120', 'VASE-T',    'tall vase',               87.00, 'delivered'),
    ('A130', 'SHELF-3',   'shelf, three boards',    115.00, 'delivered'),
    ('A131', 'SCAN-1',    'barcode scanner',         74.20, 'delivered'),
    ('A140', 'GRIND-X',   'coffee grinder',         160.00, 'delivered');

insert into refunds values
    (1, 'A140', 160.00, 'arrived broken');

insert into tickets values
    ('T1', 'office@harbour-bakery.example', null, null),
    ('T2', 'office@harbour-bakery.example', null, null),
    ('T3', 'hello@linden-florist.example', null, null),
    ('T4', 'orders@quarry-books.example', null, null),
    ('T5', 'shop@northgate-cycles.example', null, null),
    ('T6', 'shop@northgate-cycles.example', null, null),
    ('T7', 'orders@quarry-books.example', null, null),
    ('T8', 'desk@mill-street-cafe.example', null, null);

insert into policies values
    ('refunds',
     'Only the customer who placed an order gets its money back. Within 30 days of delivery (gold customers: 60 days) an item that arrived damaged or is unwanted is refunded at its price. Later refunds are refused. An item that is out of stock and was never shipped is refunded at its price at any time. What was refunded once is not refunded again.'),
    ('orders',
     'An order that is only placed may be cancelled, or its address changed. Once anything of it was shipped, neither is possible and the request is refused.'),
    ('warranty',
     'Machines and electrical goods that fail within 24 months of delivery are replaced by the same item. There is no money back under warranty.');

-- What the shop held at the start, and a view of all that has changed since, for a grader to ask.
create table orders_at_start as select * from orders;

create view outcome as
    select 'ticket' as what, id as which, decision || ' for ' || customer as how from tickets where decision is not null
    union all
    select 'refund', "order", amount from refunds where id > 1
    union all
    select 'replacement', "order", sku from replacements
    union all
    select 'order', orders.id, orders.status || ', ' || orders.address
    from orders join orders_at_start as was on was.id = orders.id
    where orders.status <> was.status or orders.address <> was.address
    order by what, which, how;
