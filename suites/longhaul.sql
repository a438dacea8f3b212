-- A warehouse: orders to store goods, each with the key under which it is booked.
create table orders (id text primary key, key text not null);
insert into orders values
  ('R10', 'K-4471'), ('R11', 'K-9038'), ('R12', 'K-2216'), ('R13', 'K-7750'), ('R14', 'K-3394'), ('R15', 'K-6182');

create table bookings ("order" text primary key, key text not null, shelf text not null);
