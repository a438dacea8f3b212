-- A dispatch office: parcels, and for each country who carries light and heavy ones.
create table parcels (id text primary key, country text not null, kilos integer not null);
insert into parcels values
  ('P11', 'Norway', 31),
  ('P12', 'Chile', 12),
  ('P13', 'Japan', 44),
  ('P14', 'Kenya', 12),
  ('P21', 'Chile', 44),
  ('P22', 'Japan', 44),
  ('P23', 'Kenya', 44),
  ('P24', 'Norway', 31),
  ('P31', 'Japan', 3),
  ('P32', 'Kenya', 26),
  ('P33', 'Norway', 7),
  ('P34', 'Chile', 44),
  ('P41', 'Kenya', 3),
  ('P42', 'Norway', 7),
  ('P43', 'Chile', 3),
  ('P44', 'Japan', 12),
  ('P51', 'Norway', 26),
  ('P52', 'Chile', 7),
  ('P53', 'Japan', 26),
  ('P54', 'Kenya', 31),
  ('P61', 'Chile', 3),
  ('P62', 'Japan', 31),
  ('P63', 'Kenya', 7),
  ('P64', 'Norway', 3);

create table carriers (country text not null, weight text not null, carrier text not null);
insert into carriers values
  ('Norway', 'light', 'Fjordpost'), ('Norway', 'heavy', 'Nordfrakt'),
  ('Chile', 'light', 'Andina'), ('Chile', 'heavy', 'Pacifico'),
  ('Japan', 'light', 'Sakura'), ('Japan', 'heavy', 'Fuji'),
  ('Kenya', 'light', 'Savanna'), ('Kenya', 'heavy', 'Uhuru');

create table assigned (parcel text primary key, carrier text not null);
