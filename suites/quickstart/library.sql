create table members (id text primary key, card text not null unique, tier text not null);
create table loans (id integer primary key, member text not null, title text not null, kind text not null, days_late integer not null);
create table fees (kind text primary key, per_day real not null);
create table reductions (tier text primary key, pays text not null);
create table charges (id integer primary key, member text not null references members (id), amount real not null);

insert into members values ('M07', 'K-1187', 'student'), ('M08', 'K-1188', 'standard'), ('M09', 'K-1189', 'standard');
insert into loans values
    (1, 'M07', 'Tides of the North Sea', 'book', 12),
    (2, 'M07', 'Bird calls', 'recording', 0),
    (3, 'M08', 'Bread at home', 'book', 3);
insert into fees values ('book', 0.25), ('recording', 0.40);
insert into reductions values ('standard', 'the whole fee'), ('student', 'half of the fee'), ('senior', 'nothing');
