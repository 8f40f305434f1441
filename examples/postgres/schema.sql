-- API keys, and a trigger that tells herdgate of each change when it is committed. README.md beside this file.

CREATE TABLE api_keys (
    hash       text PRIMARY KEY,
    user_id    text NOT NULL,
    api_key_id text NOT NULL,
    allowed    boolean NOT NULL DEFAULT true,
    scopes     text NOT NULL DEFAULT '',
    plan       text NOT NULL DEFAULT 'free',
    expires_at timestamptz,
    UNIQUE (user_id, api_key_id)
);

-- One notification for each row that changes, of what it was and of what it is: a key that moves is two keys. The same
-- one twice in a transaction is sent once. herdgate reads {"key": ..., "user_id": ..., "api_key_id": ..., "user": ...,
-- "tag": ..., "all": true, "cache": ...}; what it cannot read invalidates everything.
CREATE FUNCTION api_keys_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP IN ('UPDATE', 'DELETE') THEN
        PERFORM pg_notify('api_keys', json_build_object('key', OLD.hash, 'user_id', OLD.user_id,
                                                        'api_key_id', OLD.api_key_id)::text);
    END IF;
    IF TG_OP IN ('INSERT', 'UPDATE') THEN
        PERFORM pg_notify('api_keys', json_build_object('key', NEW.hash, 'user_id', NEW.user_id,
                                                        'api_key_id', NEW.api_key_id)::text);
    END IF;
    RETURN NULL;
END $$;

CREATE TRIGGER api_keys_changed AFTER INSERT OR UPDATE OR DELETE ON api_keys
    FOR EACH ROW EXECUTE FUNCTION api_keys_changed();

CREATE FUNCTION api_keys_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    PERFORM pg_notify('api_keys', '{"all":true}');
    RETURN NULL;
END $$;

CREATE TRIGGER api_keys_truncated AFTER TRUNCATE ON api_keys
    FOR EACH STATEMENT EXECUTE FUNCTION api_keys_truncated();

-- What herdgate is in the database: it reads, and listens, which needs no right.
CREATE ROLE herdgate LOGIN;
GRANT SELECT ON api_keys TO herdgate;
