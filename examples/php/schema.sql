create table if not exists orders (
  reference varchar(100) primary key,
  amount bigint not null,
  currency char(3) not null,
  paid_at datetime null
);
