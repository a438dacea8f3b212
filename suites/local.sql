create table facts (name text primary key, said text not null);
insert into facts values ('Eve', 'Eve lives in Lima'), ('Ada', 'Ada lives in Rome'), ('chair', 'the chair costs 40'), ('desk', 'the desk costs 90');
create table handed_in (text text not null);
