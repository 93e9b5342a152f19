"""The accounts that people have at their organisation: linked to those here, with the roles that
groups there give. Protocols such as OpenID Connect and SAML say whose account it is."""
